import type { Json, JsonObject } from '../../kit/json.ts';
import type { TextMessage, TextRequest } from '../text/text-provider.ts';

/** The name under which an upstream takes the output limit. */
export type OutputLimitField = 'max_tokens' | 'max_completion_tokens';

/**
 * The options that go upstream. `store`, `metadata`, `user`, `safety_identifier` and `prompt_cache_key` are not
 * among them, nor is what multiplies output.
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

/** OpenAI's own newer models refuse the old name; most compatible servers know only that. */
export const outputLimitField = (baseUrl: string): OutputLimitField => {
  const { hostname } = new URL(baseUrl);
  return /(^|\.)(openai\.com|azure\.com)$/.test(hostname) ? 'max_completion_tokens' : 'max_tokens';
};

/** The body of a streaming chat completion, usage always asked for. */
export const toRequestBody = (
  { model, messages, maxOutputTokens, options }: TextRequest,
  limitField: OutputLimitField,
): JsonObject => ({
  ...pick(options, forwardedOptions),
  model,
  messages: messages.map(toUpstreamMessage),
  [limitField]: maxOutputTokens,
  stream: true,
  stream_options: { ...asObject(options['stream_options']), include_usage: true },
});

/** A message without participant names; only the legacy `function` role cannot do without. */
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
