import type { Json } from '../kit/json.ts';
import { isSchema, type JsonSchema } from './simplify-schema.ts';

/**
 * Removes words from a schema at every depth. The result accepts everything that the schema accepted. Every conversation
 * pays for a tool list, so it leaves out what a model does not need.
 */
export const outlineSchema = (schema: JsonSchema, words: readonly string[]): JsonSchema =>
  Object.fromEntries(
    Object.entries(schema)
      .filter(([word]) => !words.includes(word))
      .map(([word, value]) => [
        word,
        word === 'properties' && isSchema(value)
          ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, outline(member, words)]))
          : outline(value, words),
      ]),
  );

const outline = (value: Json, words: readonly string[]): Json => {
  if (Array.isArray(value)) return value.map((part) => outline(part, words));
  return isSchema(value) ? outlineSchema(value, words) : value;
};
