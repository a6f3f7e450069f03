import type { Json, JsonObject } from '../../kit/json.ts';

/** A message in OpenAI's chat form, without participant names. */
export interface TextMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';
  content?: string | JsonObject[] | null;
  tool_calls?: JsonObject[];
  tool_call_id?: string;
  function_call?: JsonObject;
  refusal?: string | null;
  /** Names an earlier spoken answer. */
  audio?: { id: string };
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
  /** Absent where the upstream does not report them; each is part of the counts above. */
  promptAudioTokens?: number | undefined;
  completionAudioTokens?: number | undefined;
  acceptedPredictionTokens?: number | undefined;
  rejectedPredictionTokens?: number | undefined;
}

/** What may come beside the words of an answer, in OpenAI's own form. */
export interface TextExtras {
  logprobs?: { content: JsonObject[]; refusal: JsonObject[] };
  annotations?: JsonObject[];
  /** A piece of a spoken answer; each `data` is base64 of its own, one after the other they are the sound. */
  audio?: { id?: string; data?: string; transcript?: string; expires_at?: number };
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call';

/**
 * One event of an answer, in upstream order. A complete answer has exactly one `finish` and one `usage`
 * (usage may come before or after finish); a stream that ends without them throws ProviderError.
 */
export type TextEvent =
  /** `text` is empty where extras come by themselves. */
  | { type: 'content'; text: string; extras?: TextExtras }
  | { type: 'reasoning'; text: string }
  | { type: 'refusal'; text: string }
  /**
   * `id` and `name` come with the first piece of a call; `arguments` is a piece of JSON text. `extraContent` is what some
   * upstreams want back with the call in the next turn (Gemini's thought signatures).
   */
  | {
      type: 'tool_call';
      index: number;
      id?: string;
      name?: string;
      arguments: string;
      extraContent?: JsonObject;
    }
  | { type: 'finish'; reason: FinishReason }
  | { type: 'usage'; usage: TextUsage };

/** A source of text. Throws ProviderError. Ends soon after `signal` aborts, by throwing the signal's reason. */
export interface TextProvider {
  stream(request: TextRequest, options: { signal: AbortSignal }): AsyncIterable<TextEvent>;
}
