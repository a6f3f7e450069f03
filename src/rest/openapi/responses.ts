import { AppError, errorTable, type ErrorCode } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import { takesBody, type DescribedOperation } from '../../operations/definition.ts';
import { offerOf, rulesOf } from '../../operations/sale-rules.ts';
import type { DescribedSale } from '../../operations/sale.ts';
import type { ErrorText, OperationExample } from '../../operations/operation-docs.ts';
import { validate } from '../../operations/validate.ts';
import { creditTexts, errorTexts } from './error-texts.ts';
import {
  billHeadersOf,
  errorHeaderNames,
  headersOf,
  sandboxHeader,
  successHeaders,
  tellsOfJob,
  type HeaderName,
} from './headers.ts';
import { paymentRequiredContent, paymentRequiredHeader } from './payment-required.ts';
import { reference } from './schema-registry.ts';

const json = (schema: object, examples: object): object => ({ 'application/json': { schema, examples } });

/** Returns the successes of an operation by status. */
export const successResponses = (operation: DescribedOperation, brand: string): Record<string, object> => {
  const {
    rest: { content, file },
    docs: { answer, examples },
  } = operation;
  const headers = {
    ...headersOf(successHeaders(operation)),
    ...sandboxHeader(operation, brand),
    ...billHeadersOf(operation, brand),
  };
  if (content !== undefined) return contentResponses(content, headers);
  if (answer === null) throw new Error(`${operation.name} does not name its answer`);
  const statuses = new Set(examples.map(({ status }) => status));
  return Object.fromEntries(
    [...statuses]
      .sort((a, b) => a - b)
      .map((status) => [
        status,
        {
          description: status === 202 ? 'Queued: read it by its id.' : 'Done.',
          headers,
          content: {
            ...json(reference(answer), answerExamples(examples, status)),
            ...eventStream(operation),
            ...(file === undefined ? {} : { [file]: {} }),
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

/** Makes the name of an example from its summary. */
export const exampleKey = (summary: string): string =>
  summary
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');

/** Returns the answers of a path that serves bytes. */
export const contentResponses = (
  types: readonly string[],
  headers: object,
  whole = 'The whole content.',
): Record<string, object> => {
  const content = Object.fromEntries(types.map((type) => [type, {}]));
  return {
    200: { description: whole, headers, content },
    206: {
      description: 'The range that was asked for.',
      headers: { ...headers, ...headersOf(['Content-Range']) },
      content,
    },
    304: { description: 'If-None-Match names this content.', headers },
  };
};

const eventStream = ({ docs }: DescribedOperation): object => {
  if (docs.stream === undefined) return {};
  const { description, eventName } = docs.stream;
  const stream = docs.examples.find((example) => example.stream !== undefined)?.stream;
  return {
    'text/event-stream': {
      schema: { type: 'string', description, 'x-event-schema': reference(eventName) },
      ...(stream === undefined ? {} : { examples: { stream: { summary: 'A stream', value: stream } } }),
    },
  };
};

/** The codes of every operation that is sold this way. */
const codesBySale: Readonly<Record<'prepaid' | 'x402', readonly ErrorCode[]>> = {
  prepaid: ['insufficient_balance', 'model_not_found', 'idempotency_conflict'],
  x402: [
    'payment_required',
    'invalid_payment',
    'payment_conflict',
    'payment_in_progress',
    'payment_pending',
    'payment_unavailable',
  ],
};

/** Whether an API key of a call is read. */
export const takesKey = (sale: DescribedSale): boolean => rulesOf(sale).key !== 'none';

/** Returns the codes of an operation in the order of the table of errors. */
const codesOf = ({ sale, rest, docs }: DescribedOperation): ErrorCode[] => {
  const { isPrepaid, isPaid, isCredit } = rulesOf(sale);
  const codes = new Set<ErrorCode>([
    ...rest.errors,
    ...(takesKey(sale) ? (['invalid_api_key'] as const) : []),
    ...(isCredit ? (['permission_denied'] as const) : []),
    ...(isPrepaid ? codesBySale.prepaid : []),
    ...(isPaid ? codesBySale.x402 : []),
    ...(takesBody(rest)
      ? (['invalid_json', 'payload_too_large', 'unsupported_media_type', 'overloaded'] as const)
      : []),
    ...(docs.wrong === null ? [] : (['invalid_parameter'] as const)),
    'rate_limit_exceeded',
    'server_error',
    'upstream_unavailable',
    'shutting_down',
  ]);
  return errorCodes.filter((code) => codes.has(code));
};

const errorCodes = Object.keys(errorTable) as ErrorCode[];

/** Returns the refusals of an operation by status. */
export const errorResponses = (operation: DescribedOperation, brand: string): Record<string, object> => {
  const byStatus = [...Map.groupBy(codesOf(operation), (code) => errorTable[code][0]).entries()];
  return Object.fromEntries(
    byStatus
      .sort(([a], [b]) => a - b)
      .map(([status, listed]) => [status, errorResponse(operation, { status, codes: listed, brand })]),
  );
};

const errorResponse = (
  operation: DescribedOperation,
  { status, codes, brand }: { status: number; codes: readonly ErrorCode[]; brand: string },
): object => {
  const unpaid = status === 402 ? offerOf(operation.sale) : null;
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTextOf(operation, code).when}`).join('\n\n'),
    headers: {
      ...headersOf(errorHeaderNames(operation, status)),
      ...(tellsOfJob(operation, status) ? billHeadersOf(operation, brand) : {}),
      ...(unpaid === null ? {} : { ...paymentRequiredHeader, ...sandboxHeader(operation, brand) }),
    },
    content: unpaid
      ? paymentRequiredContent(operation, unpaid)
      : json(
          errorBody(operation, status),
          Object.fromEntries(codes.map((code) => [code, { value: errorExample(operation, status, code) }])),
        ),
  };
};

const errorBody = ({ rest }: DescribedOperation, status: number): object => {
  if (status !== 422 || rest.validation === 'envelope') return reference('Error');
  return rest.validation === 'detail'
    ? reference('ValidationErrors')
    : { allOf: [reference('ValidationErrors'), reference('Error')] };
};

const errorExample = (operation: DescribedOperation, status: number, code: ErrorCode): JsonObject => {
  const { message, param } = errorTextOf(operation, code);
  const error = { type: errorTable[code][1], code, message, ...(param === undefined ? {} : { param }) };
  const { validation } = operation.rest;
  if (status !== 422 || validation === 'envelope') return { error };
  const detail = (wrongRefusal(operation).issues ?? []).map((issue) => ({ ...issue }));
  return validation === 'detail' ? { detail } : { detail, error };
};

/** Returns when an operation answers an error, with an example of its message. */
const errorTextOf = (operation: DescribedOperation, code: ErrorCode): ErrorText => {
  const { errors, wrong } = operation.docs;
  const isCredit = rulesOf(operation.sale).isCredit;
  const text = errors?.[code] ?? (isCredit ? creditTexts : errorTexts)[code];
  if (code !== 'invalid_parameter' || wrong === null) return text;
  const { message, param } = wrongRefusal(operation);
  return { ...text, message, ...(param === undefined ? {} : { param }) };
};

/** Returns the gateway's own refusal of an operation's wrong example. */
const wrongRefusal = (operation: DescribedOperation): AppError => {
  try {
    validate(operation, operation.docs.wrong);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error(`the wrong example of ${operation.name} is right`);
};

/** Returns the refusals of an address outside the operations. `headers`: those of each status. */
export const plainErrors = (
  texts: Partial<Record<ErrorCode, ErrorText>>,
  headers: Record<number, readonly HeaderName[]>,
): object =>
  Object.fromEntries(
    Object.entries(texts).map(([code, { when, message }]) => {
      const [status, type] = errorTable[code as ErrorCode];
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
