import type { ServerResponse } from 'node:http';
import { toJsonText } from './json-text.ts';
import { keepFrozen } from './keep-frozen.ts';

const keptText = keepFrozen<string>();

/** Writes a JSON answer. Names of headers are in lower case. */
export const writeJson = (
  response: ServerResponse,
  { status, headers, body }: { status: number; headers?: Record<string, string>; body: object },
): void => {
  const text = keptText(body, () => toJsonText(body));
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  // Node sends a text together with the headers, in one piece.
  response.end(text);
};
