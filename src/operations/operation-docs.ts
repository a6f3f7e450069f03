import type { z } from 'zod';
import type { ErrorCode } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';

/** How `/openapi.json` and `/docs` present an operation. */
export interface OperationDocs {
  /** The name of the answer's schema, a noun such as `Job`. Null: the answer is bytes. */
  answer: string | null;
  /** The description for callers over HTTP. Null: the same as for models. */
  description: string | null;
  /** Requests with their answers. The first one is shown as a curl command. */
  examples: readonly [OperationExample, ...OperationExample[]];
  /** An input that breaks one rule: the refusal of it is shown. Null: the operation takes no fields. */
  wrong: JsonObject | null;
  /** The headers that its answers carry beyond those of its kind, by their names on the wire. */
  headers: Readonly<Record<string, string>>;
  /** True: the answer is marked when a sandbox or fictional data made it. */
  mayBeSandbox: boolean;
  /** Errors that mean something particular here. */
  errors?: Readonly<Partial<Record<ErrorCode, ErrorText>>>;
  /** The callback that a `webhook_url` asks for. */
  event?: EventDocs;
  /** The server-sent events that `stream: true` answers. */
  stream?: StreamDocs;
}

/** The event that an operation may lead to, which is sent to an address that the caller gave. */
export interface EventDocs {
  /** Its name in `webhooks` of the interface description. */
  name: string;
  summary: string;
  /** A sentence that tells when it is sent, and where to. */
  when: string;
  schemaName: string;
  schema: z.ZodType;
  example: JsonObject;
}

/** One request with its answer. */
export interface OperationExample {
  summary: string;
  parameters?: JsonObject;
  body?: JsonObject;
  status: 200 | 202;
  /** The JSON answer; null where the answer is bytes or a stream. */
  answer: JsonObject | null;
  stream?: string;
}

export interface ErrorText {
  /** When it happens, for the description of an answer. */
  when: string;
  /** A message as a customer may read it. */
  message: string;
  /** The field that the example names. */
  param?: string;
}

interface StreamDocs {
  description: string;
  /** The name of the schema of one event. */
  eventName: string;
  event: z.ZodType;
}

/** The text of an error: media cannot be read back. */
export const lostContent = {
  when: 'The bytes could not be read.',
  message: 'The content could not be read. Try again.',
};
