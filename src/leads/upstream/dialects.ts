import { follow } from './json-pointer.ts';

/** What an upstream's rows have of their own. */
export interface Dialect {
  /** Whether a row stands for that there is none. */
  isNothing(row: unknown): boolean;
  /** The fields of a row, put right. */
  adjust(fields: Record<string, unknown>): Record<string, unknown>;
}

export type DialectName = 'plain' | 'apify';

/** What actors write in place of a profile when there is none. */
const nothing: ReadonlySet<unknown> = new Set(['no_items', 'not_found']);

/** Actors write an unset category as `None`, and before the category that is shown: `None,Entrepreneur`. */
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
