import type { ServerResponse } from 'node:http';
import type { Operation } from '../operations/operation.ts';

/** The response headers that a page may read. */
const readable = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'X-PAYMENT-RESPONSE',
  'X-Payment-Transaction',
  'Idempotent-Replayed',
  'Retry-After',
  'X-Request-Id',
  'X-Should-Retry',
];

/** The request headers that a page may send. x402's first clients also send the last one, which names a response header. */
const sendable = ['PAYMENT-SIGNATURE', 'X-PAYMENT', 'SIGN-IN-WITH-X', 'Access-Control-Expose-Headers'];

const keptSeconds = 86_400;

/** True if a page of any origin may call the operation: it is paid with a proof, and no cookie or key gives rights. */
export const allowsAnyOrigin = ({ sale }: Operation): boolean => sale?.x402 !== undefined;

/** Lets a wallet in a page of any origin read the terms, pay, and read the answer. */
export const setCorsHeaders = (response: ServerResponse): void => {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-expose-headers', readable.join(', '));
};

/** Answers the preflight request that a browser sends before a payment header. */
export const answerPreflight = (response: ServerResponse, { rest }: Operation): void => {
  response.writeHead(204, {
    'access-control-allow-methods': rest.method,
    'access-control-allow-headers': sendable.join(', '),
    'access-control-max-age': String(keptSeconds),
    allow: `${rest.method}, HEAD, OPTIONS`,
    'content-length': '0',
  });
  response.end();
};
