import type { ServerResponse } from 'node:http';
import { toJsonText } from './json-text.ts';

/** Writes a JSON answer. Names of headers are in lower case. */
export const writeJson = (
  response: ServerResponse,
  { status, headers, body }: { status: number; headers?: Record<string, string>; body: object },
): void => {
  const bytes = Buffer.from(toJsonText(body));
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
    ...headers,
  });
  response.end(bytes);
};
