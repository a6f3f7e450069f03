import type OpenAI from 'openai';
import type { ErrorEnvelope } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { TextUsage } from '../../providers/text/text-provider.ts';
import type { Job } from '../../store/store.ts';
import type { OutputItem } from './response-output.ts';
import { withoutNull } from '../chat/chat-input.ts';
import { functionTool, schemaFormat, type ResponseInput } from './response-input.ts';

type WireResponse = OpenAI.Responses.Response;

/** The members of a request that stay readable after the job's end, in wire form. They contain nothing of the prompt. */
type KeptParameters = Required<
  Pick<WireResponse, 'max_output_tokens' | 'metadata' | 'parallel_tool_calls' | 'temperature' | 'top_p'>
>;

/** All members of a request that its response repeats. */
type ShownRequest = KeptParameters &
  Required<Pick<WireResponse, 'instructions' | 'text' | 'tool_choice' | 'tools'>>;

/** The part of the request that the job's row keeps while the job runs. */
export interface KeptRequest {
  shown: ShownRequest;
}

/** A response as answered and stored: every field of the `openai` package's type, null where it means nothing here. */
export type ResponseObject = Omit<WireResponse, 'output' | 'usage' | 'user'> &
  ResponseState & {
    user: null;
    /** Missing in the package's type, but in every response of OpenAI. */
    store: false;
  };

/** The part of a response that changes while its job runs. */
interface ResponseState {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  output: OutputItem[];
  output_text: string;
  usage: OpenAI.Responses.ResponseUsage | null;
  error: OpenAI.Responses.ResponseError | null;
  incomplete_details: WireResponse['incomplete_details'];
  /** Unix seconds. */
  completed_at: number | null;
}

/** The part of a job that its response names. */
type ResponseHead = Pick<Job, 'id' | 'createdAt' | 'model'>;

const unfinished: ResponseState = {
  status: 'in_progress',
  output: [],
  output_text: '',
  usage: null,
  error: null,
  incomplete_details: null,
  completed_at: null,
};

const toResponse = (job: ResponseHead, shown: ShownRequest, state: ResponseState): ResponseObject => ({
  id: responseId(job.id),
  object: 'response',
  created_at: seconds(job.createdAt),
  model: job.model,
  ...state,
  ...shown,
  access_programs: null,
  background: false,
  conversation: null,
  max_tool_calls: null,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  top_logprobs: 0,
  truncation: 'disabled',
  user: null,
});

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

/** Returns the response of a job that has ended. `incomplete` is the reason why it was cut short. */
export const toFinishedResponse = (
  job: ResponseHead,
  shown: ShownRequest,
  ended: {
    output: OutputItem[];
    usage: TextUsage;
    incomplete: 'max_output_tokens' | 'content_filter' | null;
    now: number;
  },
): ResponseObject =>
  toResponse(job, shown, {
    status: ended.incomplete === null ? 'completed' : 'incomplete',
    output: ended.output,
    output_text: textOf(ended.output),
    usage: toResponseUsage(ended.usage),
    error: null,
    incomplete_details: ended.incomplete === null ? null : { reason: ended.incomplete },
    completed_at: ended.incomplete === null ? seconds(ended.now) : null,
  });

export const toFailedResponse = (job: Job, shown: ShownRequest, error: ErrorEnvelope): ResponseObject =>
  toResponse(job, shown, { ...unfinished, status: 'failed', error: toResponseError(error) });

/** Returns the response as it was before its first output. */
export const toUnfinishedResponse = (response: ResponseObject): ResponseObject => ({
  ...response,
  ...unfinished,
});

/** Returns the fields of the request that a response repeats while its job runs. */
export const readShown = (job: Job): ShownRequest => (JSON.parse(job.request) as KeptRequest).shown;

/** Returns the response of a job in any state. */
export const readResponse = (job: Job): ResponseObject => {
  if (job.result !== null) return JSON.parse(job.result) as ResponseObject;
  if (job.error === null) return toResponse(job, readShown(job), unfinished);
  // A fault or a crash ended the job, so its request is gone.
  const kept = JSON.parse(job.parameters ?? '{}') as KeptParameters;
  const shown: ShownRequest = {
    ...kept,
    instructions: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
  };
  return toFailedResponse(job, shown, job.error);
};

/** Casts a response to JSON. TypeScript does not accept the package's interfaces as JSON. */
export const asJson = (response: ResponseObject): JsonObject => response as unknown as JsonObject;

const textOf = (output: readonly OutputItem[]): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');

const toResponseUsage = (usage: TextUsage): OpenAI.Responses.ResponseUsage => ({
  input_tokens: usage.promptTokens,
  input_tokens_details: { cached_tokens: usage.cachedTokens ?? 0, cache_write_tokens: 0 },
  output_tokens: usage.completionTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
  total_tokens: usage.promptTokens + usage.completionTokens,
});

/** Translates a public error to the codes that OpenAI's clients know for a response. */
const toResponseError = ({ code, message }: ErrorEnvelope): OpenAI.Responses.ResponseError => {
  switch (code) {
    case 'rate_limit_exceeded':
      return { code, message };
    case 'content_policy_violation':
    case 'invalid_parameter':
      return { code: 'invalid_prompt', message };
    default:
      return { code: 'server_error', message };
  }
};

export const responseId = (jobId: string): string => `resp_${jobId}`;

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
export const responseIdPattern = new RegExp(`^resp_(${uuid})$`, 'i');
const itemPattern = new RegExp(`^(?:msg|fc|rs)_(${uuid})_\\d{1,6}$`);

/** Returns the job id in a response id. Null when the text is no response id. */
export const jobIdOfResponse = (id: string): string | null =>
  responseIdPattern.exec(id)?.[1]?.toLowerCase() ?? null;

/** Returns the job id in an output item's id. Null when the id is not ours. */
export const jobIdOfItem = (id: string): string | null => itemPattern.exec(id)?.[1] ?? null;

/** The documentation of the header that every answer with a response carries. */
export const responseIdHeader = { 'X-Response-Id': '`resp_` and the job id: the way to recover the answer.' };

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
