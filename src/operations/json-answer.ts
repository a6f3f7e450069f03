import type { JsonObject } from '../kit/json.ts';
import type { JsonAnswer } from './operation.ts';

/** Returns a JSON answer. Without `rest`: status 200, no headers, no media, and nothing that a sandbox made. */
export const jsonAnswer = (
  body: JsonObject,
  rest: Partial<Omit<JsonAnswer, 'kind' | 'body'>> = {},
): JsonAnswer => ({ kind: 'json', status: 200, body, headers: {}, isSandbox: false, links: [], ...rest });
