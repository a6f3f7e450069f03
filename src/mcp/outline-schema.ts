import type { Json } from '../kit/json.ts';
import { isSchema, type JsonSchema } from './simplify-schema.ts';

/**
 * The schema without these words, at any depth; it accepts all that it accepted. A tool list leaves out what every
 * conversation would pay for and a model does not need: the interface description has it, and refusals tell it.
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
