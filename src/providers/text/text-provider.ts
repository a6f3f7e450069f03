import type { Json, JsonObject } from '../../json.ts';

/** A message in OpenAI's chat form, without participant names. */
export interface TextMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';
  content?: string | JsonObject[] | null;
  tool_calls?: JsonObject[];
  tool_call_id?: string;
  function_call?: JsonObject;
  refusal?: string | null;
  /** Required by the legacy `function` role only. */
  name?: string;
}

export interface TextRequest {
  /** The route's upstream model. */
  model: string;
  messages: TextMessage[];
  /** The effective output limit; always set, and never above what the hold covers. */
  maxOutputTokens: number;
  /** Best-effort fields in OpenAI's chat names (tools, tool_choice, temperature, response_format, ...). */
  options: { [name: string]: Json };
}

export interface TextUsage {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number | null;
  reasoningTokens: number | null;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call';

/**
 * One event of an answer, in upstream order. A complete answer has exactly one `finish` and one `usage`
 * (usage may come before or after finish); a stream that ends without them throws ProviderError.
 */
export type TextEvent =
  | { type: 'content'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'refusal'; text: string }
  /** `id` and `name` come with the first piece of a call; `arguments` is a piece of JSON text. */
  | { type: 'tool_call'; index: number; id?: string; name?: string; arguments: string }
  | { type: 'finish'; reason: FinishReason }
  | { type: 'usage'; usage: TextUsage };

/** A source of text. Throws ProviderError. Ends soon after `signal` aborts, by throwing the signal's reason. */
export interface TextProvider {
  stream(request: TextRequest, options: { signal: AbortSignal }): AsyncIterable<TextEvent>;
}
