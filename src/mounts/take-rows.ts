import { follow } from '../kit/json-pointer.ts';
import { isJsonObject, parseJson, type Json, type JsonObject } from '../kit/json.ts';
import type { ToolPrice } from './mount-settings.ts';

/**
 * Counts the rows of an answer. The answer is changed where it has more than are sold, or a text has more than the
 * structured content, whose rows count: it becomes the JSON of the rows that are sold, and a text that says so. Returns null
 * if there is no list where rows are counted. A null there has none.
 */
export const takeRows = (
  result: JsonObject,
  { path, max }: NonNullable<ToolPrice['rows']>,
): number | null => {
  const body = bodyOf(result);
  const found = follow(body, path);
  const rows = found === null ? [] : found;
  if (!Array.isArray(rows)) return null;
  const counts = textsOf(result).map((text) => follow(parse(text), path));
  const length = Math.max(rows.length, ...counts.map((told) => (Array.isArray(told) ? told.length : 0)));
  const sold = Math.min(rows.length, max);
  if (length <= sold) return sold;
  rows.splice(sold);
  const note =
    rows.length < max
      ? `The text of this answer had ${length} rows, and its structured content ${sold}: these alone were passed on and charged.`
      : `These are the first ${max} of ${length} rows: no more are sold in one call. The others were not charged.`;
  result['content'] = [JSON.stringify(body), note].map((text) => ({ type: 'text', text }));
  return sold;
};

/** The JSON of an answer: its structured content, or else that of its only text. */
const bodyOf = (result: JsonObject): Json | undefined => {
  if (result['structuredContent'] !== undefined) return result['structuredContent'];
  const [only, ...others] = textsOf(result);
  return only === undefined || others.length > 0 ? undefined : parse(only);
};

const parse = (text: string): Json | undefined => parseJson(text) as Json | undefined;

const textsOf = ({ content }: JsonObject): string[] =>
  Array.isArray(content) ? content.flatMap((item) => textOf(item) ?? []) : [];

const textOf = (item: Json): string | null => {
  const text = isJsonObject(item) && item['type'] === 'text' ? item['text'] : null;
  return typeof text === 'string' ? text : null;
};
