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
  /** The effective output limit. Always set, and never above the limit that the hold covers. */
  maxOutputTokens: number;
  /** Best-effort fields in OpenAI's chat names (tools, temperature, response_format, ...), which go upstream as they are. */
  options: { [name: string]: Json };
  /** True: nobody reads the answer before its end, so it may come in one piece. */
  isWhole: boolean;
  /** When the answer must have ended, by `performance.now()`. Default: it may take as long as the provider allows. */
  endsAt?: number;
}

export interface TextUsage {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number | null;
  reasoningTokens: number | null;
  /** Absent where the upstream does not report them. Each is part of the counts above. */
  promptAudioTokens?: number | undefined;
  completionAudioTokens?: number | undefined;
  acceptedPredictionTokens?: number | undefined;
  rejectedPredictionTokens?: number | undefined;
}

/** Parts of an answer beside its words, in OpenAI's form. */
export interface TextExtras {
  logprobs?: { content: JsonObject[]; refusal: JsonObject[] };
  annotations?: JsonObject[];
  /** A piece of a spoken answer. Each `data` is base64 by itself; the decoded pieces in order are the sound. */
  audio?: { id?: string; data?: string; transcript?: string; expires_at?: number };
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call';

/** In the upstream's order. A complete answer has one `finish` and one `usage`; one that ends without them throws. */
export type TextEvent =
  /** `text` is empty when there are only extras. */
  | { type: 'content'; text: string; extras?: TextExtras }
  | { type: 'reasoning'; text: string }
  | { type: 'refusal'; text: string }
  /**
   * `id` and `name` come with the first piece of a call. `arguments` is a piece of JSON text. Some upstreams want
   * `extraContent` back with the call in the next turn (Gemini's thought signatures).
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

export interface TextCall {
  signal: AbortSignal;
  /** Takes each event at once. When it throws, the answer ends so, and the upstream is stopped. */
  emit(event: TextEvent): void;
}

/**
 * A source of text. Throws ProviderError. Ends soon after `signal` aborts, by throwing the signal's reason. An answer of a
 * service that has begun and takes too long ends with the finish reason `length`.
 */
export interface TextProvider {
  answer(request: TextRequest, call: TextCall): Promise<void>;
}
