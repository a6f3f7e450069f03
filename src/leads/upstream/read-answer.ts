import type { UpstreamLeadsConfig } from './upstream-settings.ts';
import type { LeadQuery } from '../lead-source.ts';
import { follow, parseJson, parsePointer } from '../json-pointer.ts';
import { createLeadFieldReader } from './lead-fields.ts';
import { toLeads, type FoundLeads } from './to-leads.ts';

/** Rules for reading an upstream's answers. Plain data, because they are sent to a thread. */
export interface AnswerRules extends Pick<UpstreamLeadsConfig, 'fields' | 'words' | 'defaults' | 'maxRows'> {
  /** The JSON pointer of the list. */
  results: string;
  dialect: DialectName;
}

export interface AnswerToRead {
  /** JSON. */
  bytes: Uint8Array;
  query: LeadQuery;
  rules: AnswerRules;
}

export interface ReadAnswer extends FoundLeads {
  /** Rows above `maxRows`. */
  unread: number;
}

/** Makes the answer of a search from an upstream's answer; null when that is not JSON with the list. */
export const readAnswer = async ({ bytes, query, rules }: AnswerToRead): Promise<ReadAnswer | null> => {
  const list = follow(parseJson(bytes), parsePointer(rules.results));
  if (!Array.isArray(list)) return null;
  const { isNothing, adjust } = dialects[rules.dialect];
  const found: unknown[] = list.filter((row) => !isNothing(row));
  const rows = found.slice(0, rules.maxRows);
  const reader = createLeadFieldReader(rules.fields);
  const { words, defaults } = rules;
  const leads = await toLeads(rows, { query, read: (row) => adjust(reader.read(row)), words, defaults });
  return { ...leads, unread: found.length - rows.length };
};

/** The peculiarities of an upstream's rows. */
interface Dialect {
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

const dialects: Record<DialectName, Dialect> = {
  plain: { isNothing: () => false, adjust: (fields) => fields },
  apify: { isNothing: (row) => nothing.has(follow(row, ['error'])), adjust: withPlainCategory },
};
