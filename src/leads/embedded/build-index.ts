import { DatabaseSync } from 'node:sqlite';
import { categoryKey } from '../lead-filters.ts';
import type { Lead } from '../lead-source.ts';
import { leadTerms } from '../lead-terms.ts';
import { categoryToken, countryToken, genderToken } from './filter-tokens.ts';
import type { IndexIdentity } from './index-identity.ts';
import { leadRowid } from './lead-rowid.ts';
import { profileColumns, toLead, toRow } from './profile-row.ts';

/*
 * The tables of an index. `words` keeps no text and no positions (content='', detail=none): only which rows have
 * which token. Tokens come folded and divided (lead-terms.ts); the tokenizer `ascii` leaves such tokens as they
 * are. Its `prefix` lists serve word beginnings of these lengths; longer ones begin few words.
 */
const schema = `
  CREATE TABLE identity (schema INTEGER, unicode TEXT, synthetic INTEGER, source TEXT, profiles INTEGER) STRICT;
  CREATE TABLE categories (number INTEGER PRIMARY KEY, key TEXT NOT NULL) STRICT;
  CREATE TABLE profiles (id INTEGER PRIMARY KEY, ${profileColumns}) STRICT;
  CREATE VIRTUAL TABLE words USING fts5(
    tokens, content='', columnsize=0, detail=none, tokenize='ascii', prefix='3 4 5 6'
  );`;

export interface BuildIndexInput {
  /** Where the index goes; must not exist. */
  file: string;
  /** A further file beside it, for the time of the build. */
  sortFile: string;
  /** Well-formed text, distinct usernames, followers from 0 to 2^31 - 1; in any order. */
  leads: Iterable<Lead>;
  identity: IndexIdentity;
}

/**
 * Writes an index of `leads` and returns how many there are. Synchronous; holds one profile at a time in memory.
 * Nothing is flushed to disk here: a file that a crash left half written fails its seal.
 */
export const buildIndex = ({ file, sortFile, leads, identity }: BuildIndexInput): number => {
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536');
    database.exec(schema);
    sortLeads(database, { sortFile, leads });
    const profiles = inTransaction(database, () => indexSorted(database));
    database.exec(`INSERT INTO words (words) VALUES ('optimize')`);
    database
      .prepare('INSERT INTO identity VALUES (?, ?, ?, ?, ?)')
      .run(identity.schema, identity.unicode, Number(identity.synthetic), identity.source, profiles);
    return profiles;
  } finally {
    database.close();
  }
};

const sortLeads = (
  database: DatabaseSync,
  { sortFile, leads }: Pick<BuildIndexInput, 'sortFile' | 'leads'>,
): void => {
  database.prepare('ATTACH ? AS sorting').run(sortFile);
  database.exec('PRAGMA sorting.journal_mode = OFF; PRAGMA sorting.synchronous = OFF');
  database.exec(`CREATE TABLE sorting.leads (${profileColumns}, UNIQUE (username)) STRICT`);
  const insert = database.prepare(`INSERT INTO sorting.leads VALUES (${placeholders(14)})`);
  inTransaction(database, () => {
    for (const lead of leads) insert.run(...toRow(lead));
  });
};

const indexSorted = (database: DatabaseSync): number => {
  const insertProfile = database.prepare(`INSERT INTO profiles VALUES (${placeholders(15)})`);
  const insertTokens = database.prepare('INSERT INTO words (rowid, tokens) VALUES (?, ?)');
  const numberOf = numberCategories(database);
  const rows = database.prepare('SELECT * FROM sorting.leads ORDER BY followers DESC, username').iterate();
  let profiles = 0;
  let rank = 0;
  let lastFollowers = -1;
  for (const row of rows) {
    const lead = toLead(row);
    rank = lead.followers === lastFollowers ? rank + 1 : 0;
    lastFollowers = lead.followers;
    const id = leadRowid(lead.followers, rank);
    insertProfile.run(id, ...toRow(lead));
    insertTokens.run(id, tokensOf(lead, numberOf).join(' '));
    profiles += 1;
  }
  return profiles;
};

const tokensOf = (lead: Lead, numberOf: (category: string) => number): string[] => {
  const tokens = [...leadTerms(lead)];
  const country = lead.country === undefined ? null : countryToken(lead.country);
  if (country !== null) tokens.push(country);
  if (lead.category !== undefined) tokens.push(categoryToken(numberOf(lead.category)));
  if (lead.gender !== undefined) tokens.push(genderToken(lead.gender));
  return tokens;
};

/** Numbers categories from 0 as they appear, in the table `categories`. */
const numberCategories = (database: DatabaseSync): ((category: string) => number) => {
  const insert = database.prepare('INSERT INTO categories VALUES (?, ?)');
  const numbers = new Map<string, number>();
  return (category) => {
    const key = categoryKey(category);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    const number = numbers.size;
    numbers.set(key, number);
    insert.run(number, key);
    return number;
  };
};

const inTransaction = <T>(database: DatabaseSync, work: () => T): T => {
  database.exec('BEGIN');
  const result = work();
  database.exec('COMMIT');
  return result;
};

const placeholders = (count: number): string => Array.from({ length: count }, () => '?').join(', ');
