import type { ServerResponse } from 'node:http';
import { rateHeaderTexts } from '../limits/minute-limit.ts';
import type { Services } from '../operations/call.ts';
import type { DescribedOperation, Operation } from '../operations/definition.ts';
import { rulesOf } from '../operations/sale-rules.ts';
import { billHeaderTexts } from '../operations/jobs/job-answer.ts';

/** The response headers that a page may read. */
const readable = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'X-PAYMENT-RESPONSE',
  'X-Payment-Transaction',
  'Idempotent-Replayed',
  'Retry-After',
  ...Object.keys(rateHeaderTexts),
  'X-Request-Id',
  'X-Should-Retry',
];

/** The request headers that a page may send. x402's first clients also send the last one, which names a response header. */
const sendable = ['PAYMENT-SIGNATURE', 'X-PAYMENT', 'SIGN-IN-WITH-X', 'Access-Control-Expose-Headers'];

const keptSeconds = 86_400;

/** True if a page of any origin may call the operation: no cookie or key gives rights; it is free, or paid with a proof. */
export const allowsAnyOrigin = ({ sale }: DescribedOperation): boolean =>
  rulesOf(sale).isOpen || rulesOf(sale).isPaid;

/** Whether wallets send JSON or an idempotency key to it, and its answers have the headers of jobs and keys. */
const takesJson = ({ rest, sale }: Operation, { wallets }: Services['config']): boolean =>
  (wallets.isOn && rest.method === 'POST') || rulesOf(sale).isPrepaid;

/** Lets a wallet in a page of any origin read the terms, pay, and read the answer. */
export const setCorsHeaders = (
  response: ServerResponse,
  operation: Operation,
  config: Services['config'],
): void => {
  const bill = [...Object.keys(billHeaderTexts), 'Sandbox'].map((name) => `X-${config.brand}-${name}`);
  const names = [
    ...readable,
    ...config.x402.dialects.flatMap(({ responseHeaders }) => responseHeaders),
    ...(takesJson(operation, config) ? ['WWW-Authenticate', ...bill] : []),
  ];
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-expose-headers', [...new Set(names)].join(', '));
};

/** Answers the preflight request that a browser sends before a payment header, and before JSON. */
export const answerPreflight = (
  response: ServerResponse,
  operation: Operation,
  config: Services['config'],
): void => {
  const { method } = operation.rest;
  const names = [
    ...sendable,
    ...config.x402.dialects.flatMap(({ requestHeaders }) => requestHeaders),
    ...(takesJson(operation, config) ? ['Content-Type', 'Idempotency-Key', 'X-Usage-Tag'] : []),
  ];
  response.writeHead(204, {
    'access-control-allow-methods': method,
    'access-control-allow-headers': names.join(', '),
    'access-control-max-age': String(keptSeconds),
    allow: `${method}, HEAD, OPTIONS`,
    'content-length': '0',
  });
  response.end();
};
