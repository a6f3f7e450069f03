import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';
import { matchExpression } from './fts5-tokens.ts';
import { rowRange, unpackProfile } from './fts5-rows.ts';

export interface Fts5Index {
  search(query: LeadQuery): Lead[];
  close(): void;
}

/** Opens an index that `buildFts5` wrote. Synchronous, as everything on it. */
export const openFts5 = (file: string): Fts5Index => {
  const database = new DatabaseSync(file, { readOnly: true });
  database.exec('PRAGMA query_only = ON; PRAGMA cache_size = -65536');
  const byRange = database.prepare(
    'SELECT packed FROM profiles WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?',
  );
  const byWords = database.prepare(
    `SELECT packed FROM
       (SELECT rowid AS id FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?) AS found
       JOIN profiles ON profiles.id = found.id
     ORDER BY found.id`,
  );
  return {
    search: (query) => {
      const conditions = matchExpression(query);
      if (conditions === null) return [];
      const range = rowRange(query);
      const rows =
        conditions === ''
          ? byRange.all(...range, query.limit)
          : byWords.all(conditions, ...range, query.limit);
      return rows.map(toLead);
    },
    close: () => database.close(),
  };
};

const toLead = ({ packed }: Record<string, SQLOutputValue>): Lead => unpackProfile(String(packed));
