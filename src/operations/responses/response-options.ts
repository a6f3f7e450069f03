import type { KeptParameters, ShownRequest } from './response-object.ts';
import type { JsonObject } from '../../kit/json.ts';
import { withoutNull } from '../chat/chat-input.ts';
import { functionTool, schemaFormat, type ResponseInput } from './response-input.ts';

/** Translates the options of a checked Responses request to chat's names. Leaves out absent and null ones. */
export const toChatOptions = (request: ResponseInput): JsonObject => {
  const tools = readTools(request);
  const { temperature, top_p: topP, tool_choice: choice, parallel_tool_calls: isParallel, text } = request;
  return withoutNull({
    temperature,
    top_p: topP,
    verbosity: text?.verbosity,
    response_format: toResponseFormat(text?.format),
    // Upstreams refuse these two without tools.
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map((tool) => ({ type: 'function', function: withoutNull(tool) })),
          tool_choice: toToolChoice(choice),
          parallel_tool_calls: isParallel,
        }),
  });
};

/** Returns the members that the response repeats, with the output limit that applies. */
export const toShownRequest = (request: ResponseInput, maxOutputTokens: number): ShownRequest => ({
  ...toKeptParameters(request, maxOutputTokens),
  instructions: request.instructions ?? null,
  text: { format: toShownFormat(request.text?.format), verbosity: toVerbosity(request.text?.verbosity) },
  tool_choice: toShownChoice(request.tool_choice),
  tools: readTools(request).map((tool) => ({
    type: 'function',
    name: tool.name,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? null,
  })),
});

export const toKeptParameters = (request: ResponseInput, maxOutputTokens: number): KeptParameters => ({
  max_output_tokens: maxOutputTokens,
  metadata: request.metadata ?? {},
  parallel_tool_calls: request.parallel_tool_calls ?? true,
  temperature: request.temperature ?? null,
  top_p: request.top_p ?? null,
});

type ToolChoice = ResponseInput['tool_choice'];
type Format = NonNullable<ResponseInput['text']>['format'];

const readTools = ({ tools }: ResponseInput) => (tools ?? []).map((tool) => functionTool.parse(tool));

const toToolChoice = (choice: ToolChoice): JsonObject[string] => {
  if (choice === undefined || choice === null || typeof choice === 'string') return choice ?? null;
  return { type: 'function', function: { name: String(choice['name']) } };
};

const toShownChoice = (choice: ToolChoice): ShownRequest['tool_choice'] => {
  if (choice === 'none' || choice === 'required') return choice;
  if (choice === undefined || choice === null || typeof choice === 'string') return 'auto';
  return { type: 'function', name: String(choice['name']) };
};

const toResponseFormat = (format: Format): JsonObject | null => {
  if (format?.type === 'json_object') return { type: 'json_object' };
  if (format?.type !== 'json_schema') return null;
  return { type: 'json_schema', json_schema: withoutNull(schemaFormat.parse(format)) };
};

const toShownFormat = (format: Format): NonNullable<ShownRequest['text']['format']> => {
  if (format?.type === 'json_object') return { type: 'json_object' };
  if (format?.type !== 'json_schema') return { type: 'text' };
  const { name, description, schema, strict } = schemaFormat.parse(format);
  return {
    type: 'json_schema',
    name,
    schema,
    strict: strict ?? null,
    ...(typeof description === 'string' ? { description } : {}),
  };
};

const toVerbosity = (verbosity: string | null | undefined): 'low' | 'medium' | 'high' =>
  verbosity === 'low' || verbosity === 'high' ? verbosity : 'medium';
