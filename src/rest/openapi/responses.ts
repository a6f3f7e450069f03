import { errorTable, type ErrorCode } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Operation } from '../../operations/operation.ts';
import { errorTextOf } from './error-texts.ts';
import { operationExamples, paymentRequiredExample, type OperationExample } from './examples.ts';
import {
  errorHeaderNames,
  headersOf,
  sandboxHeader,
  successHeaders,
  type HeaderName,
} from './header-book.ts';
import { issueExample } from './issue-examples.ts';
import { reference } from './schema-book.ts';

const json = (schema: object, examples: object): object => ({ 'application/json': { schema, examples } });

/** The successes of an operation by status, with the schema of its JSON answer. */
export const successResponses = (
  operation: Operation,
  { answer, brand }: { answer: object; brand: string },
): Record<string, object> => {
  const { content } = operation.rest;
  const headers = { ...headersOf(successHeaders(operation)), ...sandboxHeader(operation, brand) };
  if (content !== undefined) return contentResponses(content, headers);
  const examples = operationExamples[operation.name] ?? [];
  const statuses = new Set(examples.map(({ status }) => status));
  return Object.fromEntries(
    [...(statuses.size === 0 ? [200] : statuses)]
      .sort((a, b) => a - b)
      .map((status) => [
        status,
        {
          description: status === 202 ? 'Queued: read it by its id.' : 'Done.',
          headers,
          content: {
            ...json(answer, answerExamples(examples, status)),
            ...(operation.rest.streams === true ? eventStream(operation) : {}),
          },
        },
      ]),
  );
};

const answerExamples = (examples: readonly OperationExample[], status: number): object =>
  Object.fromEntries(
    examples
      .filter((example) => example.status === status && example.answer !== null)
      .map(({ summary, answer }) => [exampleKey(summary), { summary, value: answer }]),
  );

/** A name for an example made of its summary. */
export const exampleKey = (summary: string): string =>
  summary
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');

const contentResponses = (types: readonly string[], headers: object): Record<string, object> => {
  const content = Object.fromEntries(types.map((type) => [type, {}]));
  return {
    200: { description: 'The whole content.', headers, content },
    206: {
      description: 'The range that was asked for.',
      headers: { ...headers, ...headersOf(['Content-Range']) },
      content,
    },
    304: { description: 'If-None-Match names this content.', headers },
  };
};

const eventStream = ({ name }: Operation): object => {
  const isChat = name === 'create_chat_completion';
  const stream = operationExamples[name]?.find((example) => example.stream !== undefined)?.stream;
  return {
    'text/event-stream': {
      schema: {
        type: 'string',
        description: isChat
          ? 'Server-sent events without names, each a ChatCompletionChunk as JSON: the role, pieces, finish_reason, then ' +
            'one with empty choices and the usage, then `[DONE]`. A failure after the beginning is `{"error": {...}}` and ' +
            'ends the stream without `[DONE]`. Comment lines come every 15 s of silence.'
          : 'Server-sent events with names, each a ResponseStreamEvent as JSON. Ends with response.completed, ' +
            'response.incomplete or response.failed. Comment lines come every 15 s of silence.',
        'x-event-schema': reference(isChat ? 'ChatCompletionChunk' : 'ResponseStreamEvent'),
      },
      ...(stream === undefined ? {} : { examples: { stream: { summary: 'A stream', value: stream } } }),
    },
  };
};

/** The codes that any operation of its kind may answer with, beside its own. */
const commonCodes = ({ sale, rest }: Operation): ErrorCode[] => [
  ...(sale !== null && sale.prepaid === undefined
    ? []
    : (['invalid_api_key', 'rate_limit_exceeded'] as const)),
  ...(rest.method === 'POST'
    ? (['invalid_json', 'payload_too_large', 'unsupported_media_type', 'overloaded'] as const)
    : []),
  ...(rest.method === 'POST' || rest.query.length > 0 || rest.path.includes('{')
    ? (['invalid_parameter'] as const)
    : []),
  'server_error',
  'upstream_unavailable',
  'shutting_down',
];

/** The refusals of an operation by status. */
export const errorResponses = (operation: Operation, brand: string): Record<string, object> => {
  const codes = new Set<ErrorCode>([...operation.rest.errors, ...commonCodes(operation)]);
  const byStatus = [...Map.groupBy([...codes], (code) => errorTable[code][0]).entries()];
  return Object.fromEntries(
    byStatus
      .sort(([a], [b]) => a - b)
      .map(([status, listed]) => [status, errorResponse(operation, { status, codes: listed, brand })]),
  );
};

const errorResponse = (
  operation: Operation,
  { status, codes, brand }: { status: number; codes: readonly ErrorCode[]; brand: string },
): object => {
  const isPaymentRequired = status === 402 && codes.includes('payment_required');
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTextOf(operation.name, code).when}`).join('\n\n'),
    headers: {
      ...headersOf(errorHeaderNames(operation, status)),
      ...(isPaymentRequired ? { ...paymentRequiredHeader, ...sandboxHeader(operation, brand) } : {}),
    },
    content: isPaymentRequired
      ? {
          ...json(reference('PaymentRequired'), {
            payment_required: { summary: 'No payment yet', value: paymentRequiredExample },
          }),
          'text/html': paymentRequiredPage,
        }
      : json(
          errorBody(operation, status),
          Object.fromEntries(codes.map((code) => [code, { value: errorExample(operation, status, code) }])),
        ),
  };
};

const paymentRequiredPage = {
  schema: {
    type: 'string',
    description:
      'The same terms as a page for people: where `Accept` prefers `text/html` to JSON, as browsers do, and no payment ' +
      'was sent. All other refusals are JSON.',
  },
};

const paymentRequiredHeader = {
  'PAYMENT-REQUIRED': {
    description: 'x402 v2 terms: every network that is accepted, with the exact amount.',
    schema: {
      type: 'string',
      contentEncoding: 'base64',
      contentMediaType: 'application/json',
      contentSchema: reference('PaymentRequiredHeader'),
    },
  },
} satisfies Record<string, object>;

const errorBody = ({ rest }: Operation, status: number): object => {
  if (status !== 422 || rest.validation === 'envelope') return reference('Error');
  return rest.validation === 'detail'
    ? reference('ValidationErrors')
    : { allOf: [reference('ValidationErrors'), reference('Error')] };
};

const errorExample = ({ name, rest }: Operation, status: number, code: ErrorCode): JsonObject => {
  const { message, param } = errorTextOf(name, code);
  const error = { type: errorTable[code][1], code, message, ...(param === undefined ? {} : { param }) };
  if (status !== 422 || rest.validation === 'envelope') return { error };
  const { place, field, msg, type } = issueExample(name);
  const detail = [{ loc: [place, field], msg, type }];
  return rest.validation === 'detail' ? { detail } : { detail, error };
};

/** The refusals of an address outside the operations, with the headers of each status. */
export const plainErrors = (
  name: string,
  codes: readonly ErrorCode[],
  headers: Record<number, readonly HeaderName[]>,
): object =>
  Object.fromEntries(
    codes.map((code) => {
      const [status, type] = errorTable[code];
      const { when, message } = errorTextOf(name, code);
      return [
        status,
        {
          description: `\`${code}\`: ${when}`,
          headers: headersOf(['X-Request-Id', 'Cache-Control', ...(headers[status] ?? [])]),
          content: json(reference('Error'), { [code]: { value: { error: { type, code, message } } } }),
        },
      ];
    }),
  );
