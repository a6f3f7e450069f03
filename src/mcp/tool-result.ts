import type { CallToolResult } from '@modelcontextprotocol/server';
import type { AppError } from '../kit/errors.ts';
import { toJsonText } from '../kit/json-text.ts';
import type { JsonAnswer, PaymentRequiredAnswer } from '../operations/operation.ts';

/** Writes a body as structured content, and as text for clients that read only text. */
const inBoth = (body: object): Pick<CallToolResult, 'content' | 'structuredContent'> => ({
  content: [{ type: 'text', text: toJsonText(body) }],
  structuredContent: { ...body },
});

/** Makes the tool result of an answer: its whole body, a link for each medium, and marks in `_meta`. */
export const toToolResult = (answer: JsonAnswer, { brand }: { brand: string }): CallToolResult => {
  const { content, structuredContent } = inBoth(answer.body);
  const meta = {
    ...(answer.isSandbox ? { [`${brand}/sandbox`]: true } : {}),
    ...(answer.headers['idempotent-replayed'] === undefined
      ? {}
      : { [`${brand}/idempotent-replayed`]: true }),
    ...(answer.receipt === undefined ? {} : { 'x402/payment-response': answer.receipt.response }),
  };
  return {
    content: [
      ...content,
      ...answer.links.map(({ url, name, mimeType }) => ({
        type: 'resource_link' as const,
        uri: url,
        name,
        ...(mimeType === null ? {} : { mimeType }),
      })),
    ],
    structuredContent,
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  };
};

/** Writes the terms of a payment in the three places where x402 clients look (x402 MCP transport). */
export const toPaymentRequiredResult = ({ challenge, receipt }: PaymentRequiredAnswer): CallToolResult => ({
  ...inBoth(challenge.paymentRequired),
  isError: true,
  _meta: {
    'x402/error': challenge.paymentRequired,
    ...(receipt === undefined ? {} : { 'x402/payment-response': receipt.response }),
  },
});

/**
 * Makes the tool result of a refusal: the error envelope, with the value that REST sends as `Retry-After`. The receipt
 * of a settlement with an unknown end goes where a settled one goes.
 */
export const toErrorResult = (error: AppError): CallToolResult => {
  const { retryAfterSeconds, headers } = error;
  const receipt = headers['payment-response'];
  return {
    ...inBoth({
      error: {
        ...error.toEnvelope(),
        ...(retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds }),
      },
    }),
    isError: true,
    ...(receipt === undefined ? {} : { _meta: { 'x402/payment-response': fromBase64Json(receipt) } }),
  };
};

const fromBase64Json = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
