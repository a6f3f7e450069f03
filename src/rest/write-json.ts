import type { ServerResponse } from 'node:http';
import { toJsonText } from '../kit/json-text.ts';

export interface JsonResponse {
  status: number;
  /** Lower case names. */
  headers?: Record<string, string>;
  body: object;
}

/** Writes a JSON answer. */
export const writeJson = (response: ServerResponse, { status, headers, body }: JsonResponse): void => {
  const bytes = Buffer.from(toJsonText(body));
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
    ...headers,
  });
  response.end(bytes);
};
