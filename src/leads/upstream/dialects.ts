import { follow } from './json-pointer.ts';

/** The peculiarities of an upstream's rows. */
export interface Dialect {
  /** Tells whether a row means that there is no profile. */
  isNothing(row: unknown): boolean;
  /** Corrects the fields of a row. */
  adjust(fields: Record<string, unknown>): Record<string, unknown>;
}

export type DialectName = 'plain' | 'apify';

/** The errors that actors write in place of a profile when there is none. */
const nothing: ReadonlySet<unknown> = new Set(['no_items', 'not_found']);

/** Actors write an unset category as `None`, and also before a category: `None,Entrepreneur`. */
const withPlainCategory = (fields: Record<string, unknown>): Record<string, unknown> => {
  const { category } = fields;
  return typeof category === 'string'
    ? { ...fields, category: category.replace(/^None(?:,|$)/, '') }
    : fields;
};

export const dialects: Record<DialectName, Dialect> = {
  plain: { isNothing: () => false, adjust: (fields) => fields },
  apify: { isNothing: (row) => nothing.has(follow(row, ['error'])), adjust: withPlainCategory },
};
