import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '../kit/json.ts';
import { failedResult, wrongForm } from './mounted-server.ts';

/** What callers get of a result. */
export interface ResultLimits {
  /** Of its JSON text. */
  maxCharacters: number;
  /** The keys of its `_meta` that the operator passes on. */
  meta: readonly string[];
  /** We have paid the server for it. */
  isPaid?: boolean;
}

/** The members of the kinds of content that callers get. `_meta` is not among them. */
const known: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', ['type', 'text', 'annotations']],
  ['image', ['type', 'data', 'mimeType', 'annotations']],
  ['audio', ['type', 'data', 'mimeType', 'annotations']],
  ['resource_link', ['type', 'uri', 'name', 'title', 'description', 'mimeType', 'size', 'annotations']],
  ['resource', ['type', 'resource', 'annotations']],
]);
const resourceMembers = ['uri', 'mimeType', 'text', 'blob'];

/**
 * Takes from the result of a tool what its caller gets: its content, its structured content, and whether it failed. What a
 * server writes into `_meta` would speak to the caller's client in our name, but for the keys that the operator names. So
 * would the terms of a payment: a client of x402 would sign a transfer for them.
 */
export const readResult = (
  result: JsonObject,
  { maxCharacters, meta, isPaid = false }: ResultLimits,
): JsonObject => {
  const { content = [], _meta: all } = result;
  const named = pick(isJsonObject(all) ? all : {}, meta);
  const structuredContent = result['structuredContent'] ?? undefined;
  const isError = Boolean(result['isError']);
  const taken: JsonObject = {
    content: Array.isArray(content) ? content.flatMap(takeItem) : content,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(Object.keys(named).length === 0 ? {} : { _meta: named }),
    ...(isError ? { isError } : {}),
  };
  if (JSON.stringify(taken).length > maxCharacters)
    return failedResult(
      `The answer of this tool is longer than ${maxCharacters} characters, and was not passed on. Ask for less.`,
    );
  // Clients lose a result of another form, for which nobody then pays.
  if (!CallToolResultSchema.safeParse(taken).success) return failedResult(wrongForm);
  if (!hasTerms(result)) return taken;
  return isPaid && !isError ? withoutTerms(taken) : unpaidResult;
};

/**
 * Takes from terms what makes clients pay them. Words of the caller that a paid tool repeats may be terms, too, and must not
 * make its answer a failure, which is not charged.
 */
const withoutTerms = ({ content, structuredContent, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  content: (content as Json[]).map((item) => {
    if (!isJsonObject(item) || typeof item['text'] !== 'string' || !asksForPayment(parseText(item)))
      return item;
    return { ...item, text: `The tool answered: ${item['text']}` };
  }),
  ...(isJsonObject(structuredContent) && {
    structuredContent: Object.fromEntries(
      Object.entries(structuredContent).filter(([name]) => name !== 'x402Version'),
    ),
  }),
});

/** The result of a tool whose server asks for a payment. */
export const unpaidResult = failedResult(
  'The server of this tool asks for a payment, which this gateway does not make.',
);

/**
 * Finds the terms of x402 by which a server asks to be paid for a call; null: it does not ask. The text of a result may be
 * a caller's own words, which a tool repeats, so terms count only in a failed result, outside of its text.
 */
export const readBill = ({
  isError,
  content,
  structuredContent,
  _meta: meta,
}: JsonObject): JsonObject | null => {
  if (isError !== true) return null;
  const named = isJsonObject(meta) ? meta['x402/error'] : null;
  if (asksForPayment(named)) return named;
  const items = Array.isArray(content) ? content : [];
  if (!asksForPayment(structuredContent) || items.length > 1) return null;
  const terms = canonicalJson(structuredContent);
  return items.every((item) => canonicalJson(parseText(item)) === terms) ? structuredContent : null;
};

/** Tells whether a client of x402 could find terms in a result. Some look at any structured content and at any text. */
const hasTerms = ({ content, structuredContent, _meta: meta }: JsonObject): boolean => {
  const texts = Array.isArray(content) ? content.map(parseText) : [];
  return [isJsonObject(meta) ? meta['x402/error'] : null, structuredContent, ...texts].some(asksForPayment);
};

const asksForPayment = (value: unknown): value is JsonObject =>
  isJsonObject(value) && 'accepts' in value && 'x402Version' in value;

const parseText = (item: Json): unknown => {
  const text = isJsonObject(item) ? item['text'] : null;
  if (typeof text !== 'string' || !text.trimStart().startsWith('{')) return null;
  return parseJson(text) ?? null;
};

const takeItem = (item: Json): Json[] => {
  const members = isJsonObject(item) ? known.get(item['type']) : undefined;
  if (members === undefined || !isJsonObject(item)) return [];
  const taken = pick(item, members);
  const { resource } = taken;
  return [isJsonObject(resource) ? { ...taken, resource: pick(resource, resourceMembers) } : taken];
};

/** Some servers write null for what they leave out. */
const pick = (value: JsonObject, members: readonly string[]): JsonObject =>
  Object.fromEntries(
    Object.entries(value).filter(([name, member]) => members.includes(name) && member !== null),
  );
