import type { z } from 'zod';

/** The words that the functions below add to a schema, and so to the JSON Schema that zod makes of it. */
export const restMark = 'x-rest';
export const unlistedMark = 'x-unlisted';
export const opaqueMark = 'x-opaque';

interface RestWords {
  description?: string;
  format?: string;
  pattern?: string;
  enum?: readonly string[];
  minimum?: number;
  minItems?: number;
  maxItems?: number;
}

/** Adds words of JSON Schema that only the interface description shows: every conversation pays for a tool list. */
export const forRest = <Schema extends z.ZodType>(schema: Schema, words: RestWords): Schema =>
  schema.meta({ [restMark]: words });

/** Leaves members out of a tool's schema. They are still taken or answered, and the interface description has them. */
export const unlisted = <Members extends Record<string, z.ZodType>>(members: Members): Members =>
  Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, member.meta({ [unlistedMark]: true })]),
  ) as Members;

/** Shows an object without its members in a tool's schema. */
export const opaque = <Schema extends z.ZodType>(schema: Schema): Schema =>
  schema.meta({ [opaqueMark]: true });
