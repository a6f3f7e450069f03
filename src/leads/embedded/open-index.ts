import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { categoryKey } from '../lead-filters.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { queryTerms, type QueryTerm } from '../search-terms.ts';
import { categoryToken, countryToken, genderToken } from './filter-tokens.ts';
import type { IndexIdentity } from './index-identity.ts';
import { rowidRange } from './lead-rowid.ts';
import { toLead } from './profile-row.ts';

/** An open index. Everything on it is synchronous and belongs in a worker thread. */
export interface LeadIndex {
  readonly identity: IndexIdentity;
  readonly profiles: number;
  search(query: LeadQuery): Lead[];
  close(): void;
}

/** Opens the index in `file` for reading only. Throws when it is none; does not look for damage (seal.ts does). */
export const openIndex = (file: string): LeadIndex => {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    database.exec('PRAGMA query_only = ON; PRAGMA cache_size = -32768');
    const row = database.prepare('SELECT * FROM identity').get();
    if (row === undefined) throw new Error('The lead index has no identity.');
    return { ...readIdentity(row), search: prepareSearch(database), close: () => database.close() };
  } catch (error) {
    database.close();
    throw error;
  }
};

const readIdentity = (row: Record<string, SQLOutputValue>): Pick<LeadIndex, 'identity' | 'profiles'> => ({
  identity: {
    schema: Number(row['schema']),
    unicode: String(row['unicode']),
    synthetic: row['synthetic'] === 1,
    source: String(row['source']),
  },
  profiles: Number(row['profiles']),
});

const prepareSearch = (database: DatabaseSync): LeadIndex['search'] => {
  const categories = readCategories(database);
  const byRange = database.prepare('SELECT * FROM profiles WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?');
  const byTokens = database.prepare(
    `SELECT profiles.* FROM
       (SELECT rowid AS id FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?) AS found
       JOIN profiles ON profiles.id = found.id
     ORDER BY found.id`,
  );
  return (query) => {
    const conditions = matchConditions(query, categories);
    const range = rowidRange(query);
    if (conditions === null || range === null) return [];
    const rows =
      conditions.length === 0
        ? byRange.all(range.first, range.last, query.limit)
        : byTokens.all(conditions.join(' AND '), range.first, range.last, query.limit);
    return rows.map(toLead);
  };
};

const readCategories = (database: DatabaseSync): ReadonlyMap<string, number> =>
  new Map(
    database
      .prepare('SELECT number, key FROM categories')
      .all()
      .map((row) => [String(row['key']), Number(row['number'])]),
  );

/** The query's words and filters in the syntax of MATCH; null when nothing can match. */
const matchConditions = (query: LeadQuery, categories: ReadonlyMap<string, number>): string[] | null => {
  const tokens: (string | null)[] = [];
  if (query.query !== undefined) {
    const terms = queryTerms(query.query);
    tokens.push(...(terms.length === 0 ? [null] : terms.map(matchTerm)));
  }
  if (query.country !== undefined) tokens.push(quote(countryToken(query.country)));
  if (query.category !== undefined) {
    const number = categories.get(categoryKey(query.category));
    tokens.push(number === undefined ? null : quote(categoryToken(number)));
  }
  if (query.gender !== undefined) tokens.push(quote(genderToken(query.gender)));
  const conditions = tokens.filter((token) => token !== null);
  return conditions.length < tokens.length ? null : conditions;
};

/** Terms are letters, digits and marks alone, and filter tokens private-use characters: quoting needs no escapes. */
const quote = (token: string | null): string | null => (token === null ? null : `"${token}"`);

const matchTerm = ({ text, isPrefix }: QueryTerm): string => `"${text}"${isPrefix ? ' *' : ''}`;
