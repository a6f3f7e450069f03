import type { ServerResponse } from 'node:http';
import type { Operation } from '../operations/operation.ts';

/** What a page may read of the answer; the rest of what it needs is in the body. */
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

/** What it may send; x402's first clients send the last of these too, which is the name of an answer's header. */
const sendable = ['PAYMENT-SIGNATURE', 'X-PAYMENT', 'Access-Control-Expose-Headers'];

const keptSeconds = 86_400;

/** Whether a page of any origin may call the operation: it is paid with a proof, and nothing else gives rights. */
export const isOpenToPages = ({ sale }: Operation): boolean => sale?.x402 !== undefined;

/** Lets a wallet in a page, wherever it comes from, read the terms, pay and read the answer (CORS). */
export const openToPages = (response: ServerResponse): void => {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-expose-headers', readable.join(', '));
};

/** Answers the question that a browser asks before it sends a payment header. */
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
