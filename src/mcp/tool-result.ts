import { ProtocolError, ProtocolErrorCode, type CallToolResult } from '@modelcontextprotocol/server';
import { toAppError, type AppError } from '../kit/errors.ts';
import { toJsonText } from '../kit/json.ts';
import type { Log } from '../kit/log.ts';
import { keepFrozen, logFailure } from '../kit/write-answer.ts';
import { nothingWrong } from '../payments/sale/gate.ts';
import { billHeaderTexts } from '../operations/jobs/job-answer.ts';
import type { Answer, JsonAnswer, PaymentRequiredAnswer } from '../operations/answer.ts';
import type { Call, Services } from '../operations/call.ts';
import type { ToolOperation } from '../operations/definition.ts';
import { createPreviewOf } from '../operations/images/preview-image.ts';
import { createToolWords } from './tool-words.ts';

/** Writes a body as structured content, and as text for models and for clients that read only text. */
const inBoth = (
  body: object,
  text = toJsonText(body),
): Pick<CallToolResult, 'content' | 'structuredContent'> => ({
  content: [{ type: 'text', text }],
  structuredContent: { ...body },
});

/**
 * Makes the tool result of an answer: its whole body, a link for each medium, and marks in `_meta`. All members are in
 * the order in which the library writes them.
 */
const toToolResult = (answer: JsonAnswer, config: { brand: string }): CallToolResult => {
  const written = answer.toText?.();
  const more = written?.more ?? null;
  const meta = toMarks(answer, config);
  const hasMeta = Object.keys(meta).length > 0;
  if (!hasMeta && more === null && answer.links.length === 0)
    return keep(answer.body, () => inBoth(answer.body, written?.text));
  const { content, structuredContent } = inBoth(answer.body, written?.text);
  return {
    ...(hasMeta ? { _meta: meta } : {}),
    content: [
      ...content,
      ...answer.links.map(({ url, name, mimeType }) => ({
        name,
        uri: url,
        ...(mimeType === null ? {} : { mimeType }),
        type: 'resource_link' as const,
      })),
      ...(more === null
        ? []
        : [{ name: 'more rows', uri: more, mimeType: 'text/plain', type: 'resource_link' as const }]),
    ],
    structuredContent,
  };
};

/** Returns what `_meta` says of an answer. */
export const toMarks = (answer: JsonAnswer, { brand }: { brand: string }): Record<string, unknown> => ({
  ...answer.meta,
  ...(answer.isSandbox ? { [`${brand}/sandbox`]: true } : {}),
  ...(answer.headers['idempotent-replayed'] === undefined ? {} : { [`${brand}/idempotent-replayed`]: true }),
  ...toBill(answer, brand),
  ...(answer.receipt === undefined ? {} : { 'x402/payment-response': answer.receipt.response }),
});

const billNames = Object.keys(billHeaderTexts).map((name) => name.toLowerCase());

/** Returns the cost of a job and its provider, as REST has them in headers. */
const toBill = ({ headers }: JsonAnswer, brand: string): Record<string, string> =>
  Object.fromEntries(
    billNames.flatMap((name) => {
      const value = headers[`x-${brand}-${name}`];
      return value === undefined ? [] : [[`${brand}/${name}`, value]];
    }),
  );

/**
 * Writes the terms of a payment where x402 clients look (x402 MCP transport): whole as structured content and in `_meta`,
 * and short as the text, which a model reads.
 */
export const toPaymentRequiredResult = ({
  challenge,
  quote,
  receipt,
}: PaymentRequiredAnswer): CallToolResult => {
  const { paymentRequired } = challenge;
  const terms = keep(paymentRequired, () => ({
    _meta: { 'x402/error': paymentRequired },
    ...inBoth(paymentRequired, toTermsText(challenge)),
    isError: true,
  }));
  if (receipt === undefined && quote === undefined) return terms;
  return {
    ...terms,
    _meta: { ...terms._meta, ...(receipt && { 'x402/payment-response': receipt.response }) },
    content: [
      ...terms.content,
      ...(quote === undefined ? [] : [{ type: 'text' as const, text: toJsonText({ quote }) }]),
    ],
  };
};

/** The characters of terms in a text. With the sentence, these are at most 600 tokens. */
const maxTermsLength = 800;
const maxReasonLength = 200;

/**
 * Writes terms as JSON that clients without structured content can pay by. It begins with a sentence for the model. It has
 * no extensions, and the first networks as far as there is room.
 */
const toTermsText = ({ paymentRequired, body }: PaymentRequiredAnswer['challenge']): string => {
  const { x402Version, resource, accepts, error: reason } = paymentRequired;
  const { amount, asset } = body.x402;
  const refused =
    reason === nothingWrong ? '' : ` The payment was refused: ${reason.slice(0, maxReasonLength)}.`;
  let length = 0;
  const shown = accepts.filter((terms, index) => {
    length += toJsonText(terms).length;
    return index === 0 || length <= maxTermsLength;
  });
  const most = accepts.some(({ scheme }) => scheme === 'upto') ? 'at most ' : '';
  const error =
    `This call costs ${most}$${amount} and is not paid.${refused} To pay, an x402 client signs ${amount} ${asset} for one of ` +
    'the terms in accepts, and sends the same call again with it in _meta["x402/payment"].';
  return toJsonText({ error, x402Version, resource, accepts: shown });
};

const kept = keepFrozen<CallToolResult>();

/** The result of a frozen body is frozen, too, so that its bytes can be kept. */
const keep = (body: object, make: () => CallToolResult): CallToolResult =>
  kept(body, () => (Object.isFrozen(body) ? Object.freeze(make()) : make()));

/**
 * Makes the tool result of a refusal: the error envelope, with the value that REST sends as `Retry-After`. The receipt
 * of a settlement with an unknown end goes where a settled one goes.
 */
export const toErrorResult = (error: AppError): CallToolResult => {
  const { retryAfterSeconds, headers } = error;
  const receipt = headers['payment-response'];
  const terms = headers['payment-required'];
  const _meta = {
    ...(receipt && { 'x402/payment-response': fromBase64Json(receipt) }),
    ...(terms && { 'x402/error': fromBase64Json(terms) }),
  };
  return {
    ...(Object.keys(_meta).length > 0 && { _meta }),
    ...inBoth({
      error: {
        ...error.toEnvelope(),
        ...(retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds }),
      },
    }),
    isError: true,
  };
};

const fromBase64Json = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64').toString('utf8'));

interface Failed {
  /** What was being done, for the log. */
  what: string;
  facts: Record<string, unknown>;
  /** Of the client. */
  signal: AbortSignal;
  log: Log;
}

/** Makes an error of the protocol, which carries its envelope as a tool error does, and logs it. */
export const toProtocolFault = (thrown: unknown, { what, facts, signal, log }: Failed): ProtocolError => {
  if (thrown instanceof ProtocolError) return thrown;
  const error = toAppError(thrown);
  const code =
    error.status >= 500 || error.status === 429
      ? ProtocolErrorCode.InternalError
      : ProtocolErrorCode.InvalidParams;
  logFailure(log, error, { what, facts, isClientGone: signal.aborted });
  return new ProtocolError(code, error.message, toErrorResult(error).structuredContent);
};

export type ToolAnswers = ReturnType<typeof createToolAnswers>;

/** Makes the results of tools: those of answers with a small picture, and refusals in the words of tools. */
export const createToolAnswers = (operations: readonly ToolOperation[], services: Services) => {
  const inToolWords = createToolWords(operations);
  const previewOf = createPreviewOf(services);
  return {
    toRefusal: (error: AppError): CallToolResult => toErrorResult(inToolWords(error)),
    toResult: async (answer: Answer, call: Pick<Call, 'memory' | 'signal'>): Promise<CallToolResult> => {
      switch (answer.kind) {
        case 'json': {
          const result = toToolResult(answer, services.config);
          const image = answer.links.find(({ mimeType }) => mimeType?.startsWith('image/'));
          const preview = image === undefined ? null : await previewOf(image.url, call);
          return preview === null
            ? result
            : { ...result, content: [...result.content, { type: 'image', ...preview }] };
        }
        case 'payment_required':
          return toPaymentRequiredResult(answer);
        case 'stream':
        case 'content':
        case 'file':
        case 'task':
          throw new Error(`an operation answered ${answer.kind} to a tool call`);
      }
    },
  };
};
