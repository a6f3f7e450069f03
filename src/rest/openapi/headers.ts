import { longestUsageTag } from '../../accounts/usage-tags.ts';
import { allowsAnyOrigin } from '../cors.ts';
import type { DescribedOperation } from '../../operations/definition.ts';
import { isSold, rulesOf, prepaidOf } from '../../operations/sale-rules.ts';
import { billHeaderTexts } from '../../operations/jobs/job-answer.ts';
import { rateHeaderTexts } from '../../limits/minute-limit.ts';
import { longestIdempotencyKey } from '../../operations/prepaid.ts';

const text = { type: 'string' };
const flag = { type: 'string', const: 'true' };

/** The response headers that no operation has to itself, by their names on the wire. */
const descriptions = {
  'X-Request-Id': ['Names this call in the log of the service.', text],
  'WWW-Authenticate': ['`Bearer`.', { ...text, const: 'Bearer' }],
  'Retry-After': ['Whole seconds to wait.', { type: 'integer', minimum: 1 }],
  'X-RateLimit-Limit-Requests': [rateHeaderTexts['X-RateLimit-Limit-Requests'], text],
  'X-RateLimit-Remaining-Requests': [rateHeaderTexts['X-RateLimit-Remaining-Requests'], text],
  'X-RateLimit-Reset-Requests': [rateHeaderTexts['X-RateLimit-Reset-Requests'], text],
  'Idempotent-Replayed': ['`true` when this is the answer to an earlier request with the same key.', flag],
  'X-Should-Retry': [
    '`false`: the same request will only be answered the same.',
    { ...text, const: 'false' },
  ],
  'PAYMENT-RESPONSE': ['The receipt of the payment, settled or not: x402 v2, base64 of JSON.', text],
  'X-PAYMENT-RESPONSE': ['The same receipt for x402 v1 clients.', text],
  'X-Payment-Transaction': ['Of a payment whose settlement is not known yet, where there is one.', text],
  'Accept-Ranges': ['`bytes`.', { ...text, const: 'bytes' }],
  'Content-Range': ['Which bytes of how many these are, on 206 and 416.', text],
  'Content-Disposition': ['A file name.', text],
  ETag: ['For If-Range and If-None-Match.', text],
  'Cache-Control': ['How long the answer may be kept.', text],
  'X-Content-Type-Options': ['`nosniff`.', { ...text, const: 'nosniff' }],
  'Content-Security-Policy': ['What a browser may do with the bytes: nothing beside showing them.', text],
  'Access-Control-Allow-Origin': ['`*`: pages of any origin may call this.', { ...text, const: '*' }],
  'Access-Control-Expose-Headers': ['The headers that such a page may read.', text],
  'Referrer-Policy': ['`no-referrer`, on pages and films.', { ...text, const: 'no-referrer' }],
  'X-Robots-Tag': ['`noindex`.', { ...text, const: 'noindex' }],
} as const satisfies Record<string, readonly [string, object]>;

export type HeaderName = keyof typeof descriptions;

const componentName = (name: string): string => name.replaceAll('-', '');

const sandboxComponent = 'XSandbox';
const billComponent = (name: string): string => componentName(`X-${name}`);

/** Returns the document's `components.headers`. */
export const headerComponents = (operations: readonly DescribedOperation[]): Record<string, object> => ({
  ...Object.fromEntries(
    [
      ...Object.entries(descriptions),
      ...operations.flatMap(({ docs }) =>
        Object.entries(docs.headers).map(([name, description]) => [name, [description, text]] as const),
      ),
    ].map(([name, [description, schema]]) => [componentName(name), { description, schema }]),
  ),
  ...Object.fromEntries(
    Object.entries(billHeaderTexts).map(([name, description]) => [
      billComponent(name),
      { description, schema: text },
    ]),
  ),
  [sandboxComponent]: {
    description:
      'On JSON only, and there only when a sandbox made it, with no real model or real profiles behind it.',
    schema: flag,
  },
});

export const headersOf = (names: readonly string[]): Record<string, object> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${componentName(name)}` }]));

/** Returns the header that marks an answer made by a sandbox, where an operation's answers may carry it. */
export const sandboxHeader = ({ docs }: DescribedOperation, brand: string): Record<string, object> =>
  docs.mayBeSandbox ? { [`X-${brand}-Sandbox`]: { $ref: `#/components/headers/${sandboxComponent}` } } : {};

/** Returns the headers that tell what a job costs, where an operation answers with a job. */
export const billHeadersOf = (
  { docs, group, sale }: DescribedOperation,
  brand: string,
): Record<string, object> =>
  (docs.mayBeSandbox && group === 'generation') || rulesOf(sale).isPrepaid
    ? Object.fromEntries(
        Object.keys(billHeaderTexts).map((name) => [
          `X-${brand}-${name}`,
          { $ref: `#/components/headers/${billComponent(name)}` },
        ]),
      )
    : {};

/** The receipt of a payment, settled or not. */
const receiptHeaders = ['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE'] as const;

/** The headers of answers that scripts in web pages may read (CORS). */
const openHeaders = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'] as const;

export const successHeaders = (operation: DescribedOperation): string[] => {
  const { sale, rest, docs } = operation;
  return [
    'X-Request-Id',
    'Cache-Control',
    ...Object.keys(rateHeaderTexts),
    ...Object.keys(docs.headers),
    ...(isSold(sale) ? ['Idempotent-Replayed'] : []),
    ...(rulesOf(sale).isPaid ? receiptHeaders : []),
    ...(allowsAnyOrigin(operation) ? openHeaders : []),
    ...(rest.content === undefined ? [] : ['Content-Disposition', ...mediumHeaders]),
    ...(rest.file === undefined ? [] : ['Content-Disposition', 'X-Content-Type-Options']),
  ];
};

export const mediumHeaders = ['Accept-Ranges', 'ETag', 'X-Content-Type-Options'] as const;

/**
 * Returns whether a refusal with this status can report the failure of a job. Only a call that waits for its job reports
 * it so. Such a refusal names the job, and the same idempotency key repeats it.
 */
export const tellsOfJob = ({ sale }: DescribedOperation, status: number): boolean =>
  prepaidOf(sale)?.waits === true && [400, 408, 429, 500, 502, 503].includes(status);

const pageHeaderNames = ['Content-Security-Policy', 'X-Content-Type-Options', 'Referrer-Policy'] as const;

export const unsatisfiableHeaders = ['Accept-Ranges', 'Content-Range'] as const;

export const errorHeaderNames = (operation: DescribedOperation, status: number): string[] => {
  const { sale, docs } = operation;
  const { isPaid: isSoldByX402, isAnswer } = rulesOf(sale);
  return [
    'X-Request-Id',
    'Cache-Control',
    ...(status === 401 ? ['WWW-Authenticate'] : Object.keys(rateHeaderTexts)),
    ...(status === 429 || status === 503 || (isSoldByX402 && status === 409) || (isAnswer && status === 502)
      ? ['Retry-After']
      : []),
    ...(status === 416 ? unsatisfiableHeaders : []),
    ...(isSoldByX402 && (status === 402 || status === 503) ? receiptHeaders : []),
    ...(allowsAnyOrigin(operation) ? openHeaders : []),
    ...(isSoldByX402 && status === 402 ? pageHeaderNames : []),
    ...(isSoldByX402 && status === 503 ? ['X-Payment-Transaction'] : []),
    ...(status === 409 || tellsOfJob(operation, status) ? ['X-Should-Retry'] : []),
    ...(tellsOfJob(operation, status) ? [...Object.keys(docs.headers), 'Idempotent-Replayed'] : []),
  ];
};

export const idempotencyKeyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'One key for one job of yours: the same key with the same request answers the same job, charged once. Kept for ' +
    '48 hours. Send it again when you repeat a request that timed out. Without an API key it counts for the account of the ' +
    'wallet that pays.',
  schema: { type: 'string', minLength: 1, maxLength: longestIdempotencyKey },
  example: 'order-7301-picture-1',
};

export const usageTagParameter = {
  name: 'X-Usage-Tag',
  in: 'header',
  required: false,
  description:
    'A tag of yours, under which GET /v1/usage counts the call. Without it, that of the API key. An account has 100 tags a ' +
    'month; others are counted as `other`.',
  schema: { type: 'string', minLength: 1, maxLength: longestUsageTag },
  example: 'newsletter',
};

export const paymentParameters = [
  ['PAYMENT-SIGNATURE', 'x402 v2'],
  ['X-PAYMENT', 'x402 v1 or v2'],
].map(([name, versions]) => ({
  name,
  in: 'header',
  required: false,
  description: `An x402 payment proof (${versions}), base64 of JSON. One of the two headers.`,
  schema: { type: 'string', contentEncoding: 'base64', contentMediaType: 'application/json' },
}));

export const signInParameter = {
  name: 'SIGN-IN-WITH-X',
  in: 'header',
  required: false,
  description: 'The signed message, base64 of JSON. Its fields may stand in the body instead.',
  schema: { type: 'string', contentEncoding: 'base64', contentMediaType: 'application/json' },
};

export const rangeParameter = {
  name: 'Range',
  in: 'header',
  required: false,
  description: 'One range of bytes.',
  schema: { type: 'string' },
  example: 'bytes=0-1048575',
};
