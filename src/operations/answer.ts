import type { AppError } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Challenge, Receipt } from '../payments/sale/gate.ts';
import type { Job, Media } from '../store/store.ts';

export interface JsonAnswer {
  kind: 'json';
  status: 200 | 202;
  body: JsonObject;
  /** Lower case names. */
  headers: Record<string, string>;
  /** True: a sandbox made it, or it contains synthetic data. */
  isSandbox: boolean;
  /** Media of the result, for MCP resource links. */
  links: MediaLink[];
  /** Writes the answer for people and models over MCP, in place of its JSON text. */
  toText?: () => string;
  /** The settled payment, on paid operations. */
  receipt?: Receipt;
}

/** Returns a JSON answer. Without `rest`: status 200, no headers, no media, and nothing that a sandbox made. */
export const jsonAnswer = (
  body: JsonObject,
  rest: Partial<Omit<JsonAnswer, 'kind' | 'body'>> = {},
): JsonAnswer => ({ kind: 'json', status: 200, body, headers: {}, isSandbox: false, links: [], ...rest });

export interface MediaLink {
  url: string;
  name: string;
  /** Null: unknown until the bytes are read. */
  mimeType: string | null;
}

export interface StreamAnswer {
  kind: 'stream';
  headers: Record<string, string>;
  /** Sends the events. Resolves with the end of the answer, or when the client disconnects. */
  stream(send: SendEvents): Promise<void>;
}

/** Sends events together. The promise, if any, resolves when the client is ready for more. */
export type SendEvents = (events: ServerSentEvent[]) => Promise<void> | undefined;

export interface ServerSentEvent {
  event?: string;
  /** One line of text: JSON, or `[DONE]`. */
  data: string;
  /** One line before the event, which clients pass over. */
  comment?: string;
}

/** The bytes of one medium. Only REST answers it. */
export interface ContentAnswer {
  kind: 'content';
  media: Media;
  fileName: string;
  /** Called when the bytes are missing. Compensates the loss and returns the refusal. */
  whenMissing?: () => Promise<AppError>;
}

export interface PaymentRequiredAnswer {
  kind: 'payment_required';
  /** Whether what is sold is marked as sandbox data. */
  isSandbox: boolean;
  challenge: Challenge;
  /** How the price comes about. */
  quote?: JsonObject;
  /** Of a settlement that failed. */
  receipt?: Receipt;
}

/** A job that goes on, for a call that takes a task. */
export interface TaskAnswer {
  kind: 'task';
  job: Job;
}

export type Answer = JsonAnswer | StreamAnswer | ContentAnswer | PaymentRequiredAnswer | TaskAnswer;
