import { AppError } from '../../kit/errors.ts';
import { maxOutputLimit, unmetToolChoice } from '../chat/chat-input.ts';
import {
  isResponseItemType,
  responseItemSchemas,
  responseItemType,
  type ResponseInput,
  type ResponseContent,
  type ResponseItem,
} from './response-input.ts';

const resend = 'Send the whole conversation in input.';

/** Members of OpenAI's API that are not supported here, with what to do instead. */
const rejected = {
  previous_response_id: resend,
  conversation: resend,
  background: 'Leave it out; a response that takes long is read with GET /v1/responses/{id}.',
  prompt: 'Write the prompt into instructions and input.',
  top_logprobs: 'Leave it out.',
  max_tool_calls: 'Leave it out; there are no tools that run on this side.',
};

const roles = ['user', 'assistant', 'system', 'developer'];
const textParts = ['input_text', 'output_text'];
const toolChoices = ['auto', 'none', 'required'];
const verbosities = ['low', 'medium', 'high'];

/** The upper ends of OpenAI's ranges, which begin at 0. Upstreams have the same. */
const maxSampling = { temperature: 2, top_p: 1 };

const maxMetadata = { entries: 16, keyLength: 64, valueLength: 512 };

/** Refuses well-formed requests with unsupported values. Throws AppError: unknown_parameter, invalid_value, input_too_large. */
export const checkResponseRequest = (
  request: ResponseInput,
  { responsesMaxBytes }: { responsesMaxBytes: number },
): void => {
  for (const [name, advice] of Object.entries(rejected))
    if (isPresent(request[name])) throw unknownParameter(name, `is not supported. ${advice}`);
  if (request.store === true)
    throw unknownParameter('store', 'must be false: nothing is kept. Leave it out or send false.');
  checkOptions(request);
  checkTools(request);
  checkItems(request.input);
  if (Buffer.byteLength(JSON.stringify(request)) > responsesMaxBytes) throw tooLarge(responsesMaxBytes);
};

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

const unknownParameter = (param: string, text: string): AppError =>
  new AppError('unknown_parameter', `${param}: ${text}`, { param });

export const invalidValue = (param: string, text: string): AppError =>
  new AppError('invalid_value', `${param}: ${text}`, { param });

export const tooLarge = (maxBytes: number): AppError =>
  new AppError('input_too_large', `The request is larger than ${maxBytes} bytes of JSON. Send less.`, {
    param: 'input',
  });

const checkOptions = (request: ResponseInput): void => {
  const { max_output_tokens: limit, metadata, text } = request;
  if (typeof limit === 'number' && (limit < 1 || limit > maxOutputLimit))
    throw invalidValue('max_output_tokens', `must be 1 to ${maxOutputLimit}.`);
  for (const [name, most] of Object.entries(maxSampling)) {
    const value = request[name];
    if (typeof value === 'number' && (value < 0 || value > most))
      throw invalidValue(name, `must be 0 to ${most}.`);
  }
  checkMetadata(metadata ?? {});
  const format = text?.format?.type ?? 'text';
  if (!['text', 'json_object', 'json_schema'].includes(format))
    throw invalidValue('text.format.type', 'must be text, json_object or json_schema.');
  if (!verbosities.includes(text?.verbosity ?? 'medium'))
    throw invalidValue('text.verbosity', `must be ${verbosities.join(', ')}.`);
};

const checkMetadata = (metadata: Record<string, string>): void => {
  const entries = Object.entries(metadata);
  const { entries: most, keyLength, valueLength } = maxMetadata;
  if (entries.length > most) throw invalidValue('metadata', `must have at most ${most} entries.`);
  if (entries.some(([key, value]) => key.length > keyLength || value.length > valueLength))
    throw invalidValue(
      'metadata',
      `keys must have at most ${keyLength} characters and values at most ${valueLength}.`,
    );
};

const checkTools = ({ tools, tool_choice: choice }: ResponseInput): void => {
  const names = new Set<unknown>();
  for (const [index, tool] of (tools ?? []).entries()) {
    if (tool.type !== 'function')
      throw invalidValue(`tools.${index}.type`, 'only function tools are supported.');
    names.add(tool['name']);
  }
  if (choice === undefined || choice === null) return;
  if (typeof choice === 'string') {
    if (!toolChoices.includes(choice))
      throw invalidValue('tool_choice', 'must be auto, none, required or {type: "function", name}.');
    const unmet = choice === 'required' ? unmetToolChoice(choice, names) : null;
    if (unmet !== null) throw invalidValue('tool_choice', `${unmet}.`);
    return;
  }
  if (choice['type'] !== 'function') throw invalidValue('tool_choice.type', 'must be function.');
  const unmet = unmetToolChoice({ name: choice['name'] }, names);
  if (unmet !== null) throw invalidValue('tool_choice.name', `${unmet}.`);
};

const checkItems = (input: ResponseInput['input']): void => {
  if (typeof input === 'string') return;
  for (const [index, item] of input.entries()) checkItem(item, `input.${index}`);
};

const checkItem = (item: ResponseItem, param: string): void => {
  const type = responseItemType(item);
  if (!isResponseItemType(type))
    throw invalidValue(
      `${param}.type`,
      `must be ${Object.keys(responseItemSchemas).join(', ')}. Only text and function calls are supported.`,
    );
  if (type === 'message') {
    const { role, content } = responseItemSchemas.message.parse(item);
    if (!roles.includes(role)) throw invalidValue(`${param}.role`, `must be ${roles.join(', ')}.`);
    const isAssistant = role === 'assistant';
    checkContent(content, `${param}.content`, isAssistant ? [...textParts, 'refusal'] : textParts);
  }
  if (type === 'function_call_output')
    checkContent(responseItemSchemas.function_call_output.parse(item).output, `${param}.output`, textParts);
};

const checkContent = (content: ResponseContent, param: string, allowed: readonly string[]): void => {
  if (typeof content === 'string') return;
  for (const [index, { type }] of content.entries())
    if (!allowed.includes(type))
      throw invalidValue(
        `${param}.${index}.type`,
        `must be ${allowed.join(' or ')}: images, files and audio are not supported here.`,
      );
};
