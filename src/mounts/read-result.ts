import { isJsonObject, type Json, type JsonObject } from '../kit/json.ts';

/** What callers get of a result. */
export interface ResultLimits {
  /** Of its JSON text. */
  maxCharacters: number;
  /** The keys of its `_meta` that the operator passes on. */
  meta: readonly string[];
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

/** The result of a tool that failed. */
export const failedResult = (text: string): JsonObject => ({
  content: [{ type: 'text', text }],
  isError: true,
});

/**
 * Takes from the result of a tool what its caller gets: its content, its structured content, and whether it failed. What a
 * server writes into `_meta` would speak to the caller's client in our name, but for the keys that the operator names. So
 * would the terms of a payment: a client of x402 would sign a transfer for them.
 */
export const readResult = (result: JsonObject, { maxCharacters, meta }: ResultLimits): JsonObject => {
  const { content = [], _meta: all } = result;
  const named = pick(isJsonObject(all) ? all : {}, meta);
  const structuredContent = result['structuredContent'] ?? undefined;
  const isError = Boolean(result['isError']);
  if (!Array.isArray(content) || (structuredContent !== undefined && !isJsonObject(structuredContent)))
    return failedResult('The server of this tool answered in a wrong form.');
  const taken: JsonObject = {
    content: content.flatMap(takeItem),
    ...(structuredContent === undefined || isError ? {} : { structuredContent }),
    ...(Object.keys(named).length === 0 ? {} : { _meta: named }),
    // Last, where the sums of the store look for it.
    ...(isError ? { isError } : {}),
  };
  if (JSON.stringify(taken).length > maxCharacters)
    return failedResult(
      `The answer of this tool is longer than ${maxCharacters} characters, and was not passed on. Ask for less.`,
    );
  return readTerms(result) === null ? taken : unpaidResult;
};

/** The result of a tool whose server asks for a payment. */
export const unpaidResult = failedResult(
  'The server of this tool asks for a payment, which this gateway does not make.',
);

/** Finds the terms of x402 that a result has, wherever clients look for them; null: it has none. */
export const readTerms = ({ content, structuredContent, _meta: meta }: JsonObject): JsonObject | null => {
  const texts = Array.isArray(content) ? content.map(parseText) : [];
  const all = [isJsonObject(meta) ? meta['x402/error'] : null, structuredContent, ...texts];
  return all.find(asksForPayment) ?? null;
};

/** Clients of x402 take such an object for terms, as structured content or as the text of an item, in any result. */
const asksForPayment = (value: unknown): value is JsonObject =>
  isJsonObject(value) && 'accepts' in value && 'x402Version' in value;

const parseText = (item: Json): unknown => {
  const text = isJsonObject(item) ? item['text'] : null;
  if (typeof text !== 'string' || !text.trimStart().startsWith('{')) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

const takeItem = (item: Json): Json[] => {
  const members = isJsonObject(item) ? known.get(item['type']) : undefined;
  if (members === undefined || !isJsonObject(item)) return [];
  const { resource, ...rest } = pick(item, members);
  if (resource === undefined) return [rest];
  return isJsonObject(resource) ? [{ ...rest, resource: pick(resource, resourceMembers) }] : [];
};

const pick = (value: JsonObject, members: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([name]) => members.includes(name)));
