import type { Json, JsonObject } from '../../kit/json.ts';
import type { TextMessage, TextRequest } from '../text/text-provider.ts';

/**
 * The options that are sent upstream. `store`, `metadata`, `user`, `safety_identifier`, `prompt_cache_key` and options that
 * multiply the output are not.
 */
const forwardedOptions = [
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'response_format',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'stop',
  'seed',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'reasoning_effort',
  'verbosity',
  'service_tier',
  'modalities',
  'audio',
  'prediction',
  'moderation',
  'web_search_options',
  'prompt_cache_options',
  'prompt_cache_retention',
  'extra_body',
];

/** Newer models of OpenAI refuse `max_tokens`. Most compatible servers know no other name of the output limit. */
export const limitField = (baseUrl: string): string =>
  /(^|\.)(openai\.com|azure\.com)$/.test(new URL(baseUrl).hostname) ? 'max_completion_tokens' : 'max_tokens';

export interface RequestForm {
  limitField: string;
  isStreamed: boolean;
}

/** Makes the body of a chat completion. A stream always asks for usage, which a whole answer has anyway. */
export const toRequestBody = (
  { model, messages, maxOutputTokens, options }: TextRequest,
  form: RequestForm,
): JsonObject => ({
  ...pick(options, forwardedOptions),
  model,
  messages: messages.map(toUpstreamMessage),
  [form.limitField]: maxOutputTokens,
  stream: form.isStreamed,
  ...(form.isStreamed
    ? { stream_options: { ...asObject(options['stream_options']), include_usage: true } }
    : {}),
});

/** Removes participant names from a message. Only the legacy `function` role needs one. */
const toUpstreamMessage = (message: TextMessage): JsonObject => ({
  role: message.role,
  content: message.content ?? null,
  ...(message.tool_calls === undefined ? {} : { tool_calls: message.tool_calls }),
  ...(message.tool_call_id === undefined ? {} : { tool_call_id: message.tool_call_id }),
  ...(message.function_call === undefined ? {} : { function_call: message.function_call }),
  ...(typeof message.refusal === 'string' ? { refusal: message.refusal } : {}),
  ...(message.audio === undefined ? {} : { audio: message.audio }),
  ...(message.role === 'function' && message.name !== undefined ? { name: message.name } : {}),
});

const pick = (options: { [name: string]: Json }, names: readonly string[]): JsonObject =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = options[name];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );

const asObject = (value: Json | undefined): JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
