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
  toText?: () => AnswerText;
  /** Over MCP, what only the program of the client reads: members of `_meta`. */
  meta?: JsonObject;
  /** The settled payment, on paid operations. */
  receipt?: Receipt;
}

export interface AnswerText {
  text: string;
  /** The address of the resource with the rows that the text has no room for; null: it has all. */
  more: string | null;
}

/** The address, below the brand's scheme, of the last rows of an answer, for which its text has no room. */
export const morePath = 'answers/{operation}/{id}/{last}';

/**
 * Returns a function that makes such an address. `id`: of the answer's job, or the hash of the request that a proof paid
 * for, which is not on the chain as the proof is.
 */
export const createMoreUri =
  ({ brand }: { brand: string }, { operation, id }: { operation: string; id: string }) =>
  (last: number): string =>
    `${brand}://answers/${operation}/${id}/${last}`;

/** The parts of a JSON answer that is free of charge. */
export type AnswerParts = Pick<JsonAnswer, 'body' | 'meta' | 'toText'>;

/** Returns a JSON answer. Without `rest`: status 200, no headers, no media, and nothing that a sandbox made. */
export const jsonAnswer = (
  body: JsonObject,
  rest: Partial<Omit<JsonAnswer, 'kind' | 'body'>> = {},
): JsonAnswer => ({ kind: 'json', status: 200, body, headers: {}, isSandbox: false, links: [], ...rest });

/** Returns a JSON answer that no cache may keep. */
export const privateAnswer = (body: JsonObject): JsonAnswer =>
  jsonAnswer(body, { headers: { 'cache-control': 'no-store' } });

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

/** A text file that is made while it is written. Only REST answers it. */
export interface FileAnswer {
  kind: 'file';
  contentType: string;
  fileName: string;
  /** Makes its parts, one after another. Those that nobody takes any more are not made. */
  parts: AsyncIterable<string>;
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
  /** The address of a page that tells a person how to add money, so that the call need not be paid by itself. */
  page?: string | undefined;
}

/** A job that goes on, for a call that takes a task. */
export interface TaskAnswer {
  kind: 'task';
  job: Job;
}

export type Answer =
  | JsonAnswer
  | StreamAnswer
  | ContentAnswer
  | FileAnswer
  | PaymentRequiredAnswer
  | TaskAnswer;
