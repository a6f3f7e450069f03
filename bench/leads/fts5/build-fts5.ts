import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { profileTokens } from './fts5-tokens.ts';
import { packProfile, rowidOf, unpackProfile } from './fts5-rows.ts';

/*
 * What SQLite's own full-text index can do at its best, to compare with: no text and no positions are kept, rows
 * stand in the order of results, filters and bands of followers are tokens, and word beginnings of two to four
 * characters have lists of their own.
 */
const schema = `
  CREATE TABLE profiles (id INTEGER PRIMARY KEY, packed TEXT NOT NULL) STRICT;
  CREATE VIRTUAL TABLE words USING fts5(
    tokens, content='', contentless_delete=1, detail=none, tokenize='ascii', prefix='2 3 4'
  );`;

/** Writes an index of `leads`, of distinct usernames, into `file`, which must not exist. */
export const buildFts5 = (file: string, leads: Iterable<Lead>): void => {
  const sortFile = `${file}-sort`;
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536');
    database.exec(schema);
    database.prepare('ATTACH ? AS sorting').run(sortFile);
    database.exec('PRAGMA sorting.journal_mode = OFF; PRAGMA sorting.synchronous = OFF');
    database.exec('BEGIN');
    sortProfiles(database, leads);
    insertSorted(database);
    database.exec('COMMIT');
    database.exec(`INSERT INTO words (words) VALUES ('optimize')`);
  } finally {
    database.close();
    rmSync(sortFile, { force: true });
  }
};

const sortProfiles = (database: DatabaseSync, leads: Iterable<Lead>): void => {
  database.exec('CREATE TABLE sorting.leads (followers INTEGER, username TEXT, packed TEXT) STRICT');
  const insert = database.prepare('INSERT INTO sorting.leads VALUES (?, ?, ?)');
  for (const lead of leads) insert.run(lead.followers, lead.username, packProfile(lead));
};

const insertSorted = (database: DatabaseSync): void => {
  const insertProfile = database.prepare('INSERT INTO profiles VALUES (?, ?)');
  const insertTokens = database.prepare('INSERT INTO words (rowid, tokens) VALUES (?, ?)');
  const rows = database
    .prepare('SELECT packed FROM sorting.leads ORDER BY followers DESC, username')
    .iterate();
  let rank = 0;
  let lastFollowers = -1;
  for (const { packed } of rows) {
    const lead = unpackProfile(String(packed));
    rank = lead.followers === lastFollowers ? rank + 1 : 0;
    lastFollowers = lead.followers;
    const id = rowidOf(lead.followers, rank);
    insertProfile.run(id, String(packed));
    insertTokens.run(id, profileTokens(lead));
  }
};
