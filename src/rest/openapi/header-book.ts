import { longestIdempotencyKey } from '../../operations/execute.ts';
import type { Operation } from '../../operations/operation.ts';

const text = { type: 'string' };
const flag = { type: 'string', const: 'true' };

/** Every response header that is not HTTP's own housekeeping, by its name on the wire. */
const descriptions = {
  'X-Request-Id': ['Names this call in the log of the service.', text],
  'WWW-Authenticate': ['`Bearer`.', { ...text, const: 'Bearer' }],
  'Retry-After': ['Whole seconds to wait.', { type: 'integer', minimum: 1 }],
  'Idempotent-Replayed': ['`true` when this is the answer to an earlier request with the same key.', flag],
  'X-Should-Retry': [
    '`false`: the same request will only be answered the same.',
    { ...text, const: 'false' },
  ],
  'X-Chat-Completion-Id': ['`chatcmpl-` and the job id: the way to recover the answer.', text],
  'X-Conversation-Id': ['The conversation_id of the request.', text],
  'X-Response-Id': ['`resp_` and the job id: the way to recover the answer.', text],
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
  'Referrer-Policy': ['`no-referrer`, on pages.', { ...text, const: 'no-referrer' }],
} as const satisfies Record<string, readonly [string, object]>;

export type HeaderName = keyof typeof descriptions;

const componentName = (name: HeaderName): string => name.replaceAll('-', '');

/** `components.headers`. */
export const headerComponents = (): Record<string, object> => ({
  ...Object.fromEntries(
    Object.entries(descriptions).map(([name, [description, schema]]) => [
      componentName(name as HeaderName),
      { description, schema },
    ]),
  ),
  [sandboxComponent]: {
    description:
      'On JSON only, and there only when a sandbox made it, with no real model or real profiles behind it.',
    schema: flag,
  },
});

/** The `headers` of one answer. */
export const headersOf = (names: readonly HeaderName[]): Record<string, object> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${componentName(name)}` }]));

/** The id headers that an operation's answers carry, refusals of its job included. */
const idHeaders: Record<string, readonly HeaderName[]> = {
  create_chat_completion: ['X-Chat-Completion-Id', 'X-Conversation-Id'],
  create_response: ['X-Response-Id'],
  get_response: ['X-Response-Id'],
};

const sandboxComponent = 'XSandbox';

/** The operations whose answers tell of what a sandbox made. */
const tellOfSandbox: ReadonlySet<string> = new Set([
  'search_leads',
  'create_chat_completion',
  'create_response',
  'get_response',
  'create_image',
  'get_job',
  'create_video',
  'get_video',
]);

/** The header that marks what a sandbox made, where an operation's answers may carry it. */
export const sandboxHeader = ({ name }: Operation, brand: string): Record<string, object> =>
  tellOfSandbox.has(name)
    ? { [`X-${brand}-Sandbox`]: { $ref: `#/components/headers/${sandboxComponent}` } }
    : {};

/** Of a settled payment, and of one whose settlement failed. */
const receiptHeaders = ['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE'] as const;

/** Of everything that a page may call. */
const openHeaders = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'] as const;

export const successHeaders = ({ name, sale, rest }: Operation): HeaderName[] => [
  'X-Request-Id',
  'Cache-Control',
  ...(idHeaders[name] ?? []),
  ...(sale === null ? [] : (['Idempotent-Replayed'] as const)),
  ...(sale?.x402 === undefined ? [] : [...receiptHeaders, ...openHeaders]),
  ...(rest.content === undefined ? [] : (['Content-Disposition', ...mediumHeaders] as const)),
];

/** Of everything that is answered as bytes. */
export const mediumHeaders = ['Accept-Ranges', 'ETag', 'X-Content-Type-Options'] as const;

/** Whether a refusal may tell how a text job ended: it names the job then, and is repeated under its key. */
const tellsOfJob = (name: string, status: number): boolean =>
  (name === 'create_chat_completion' || name === 'create_response') &&
  [400, 408, 429, 500, 502, 503].includes(status);

/** Of a 402 that is a page. */
const pageHeaderNames = ['Content-Security-Policy', 'X-Content-Type-Options', 'Referrer-Policy'] as const;

/** Of a 416. */
export const unsatisfiableHeaders = ['Accept-Ranges', 'Content-Range'] as const;

export const errorHeaderNames = ({ name, sale }: Operation, status: number): HeaderName[] => [
  'X-Request-Id',
  'Cache-Control',
  ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
  ...(status === 429 || status === 503 || (sale?.x402 !== undefined && status === 409)
    ? (['Retry-After'] as const)
    : []),
  ...(status === 416 ? unsatisfiableHeaders : []),
  ...(sale?.x402 !== undefined && (status === 402 || status === 503) ? receiptHeaders : []),
  ...(sale?.x402 === undefined ? [] : openHeaders),
  ...(sale?.x402 !== undefined && status === 402 ? pageHeaderNames : []),
  ...(sale?.x402 !== undefined && status === 503 ? (['X-Payment-Transaction'] as const) : []),
  ...(status === 409 || tellsOfJob(name, status) ? (['X-Should-Retry'] as const) : []),
  ...(tellsOfJob(name, status) ? ([...(idHeaders[name] ?? []), 'Idempotent-Replayed'] as const) : []),
];

export const idempotencyKeyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'One key for one job of yours: the same key with the same request answers the same job, charged once. Kept for ' +
    '48 hours. Send it again when you repeat a request that timed out.',
  schema: { type: 'string', minLength: 1, maxLength: longestIdempotencyKey },
  example: 'order-7301-picture-1',
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

export const rangeParameter = {
  name: 'Range',
  in: 'header',
  required: false,
  description: 'One range of bytes.',
  schema: { type: 'string' },
  example: 'bytes=0-1048575',
};
