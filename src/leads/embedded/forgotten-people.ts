import { hash, randomBytes } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { usernameKey } from '../query/username-key.ts';
import { ForgottenListDamagedError, markOfSalt, readForgottenClaim } from './forgotten-claim.ts';
import { forgottenFile } from './lead-folder.ts';
import { isDamagedDatabase } from './segment/open-existing.ts';

/** The people who asked to be forgotten. */
export type ForgottenPeople = ReturnType<typeof describe>;

/**
 * Only digests of names are stored. They are salted, so a precomputed list of all names is useless. The salt
 * is in the same file, so somebody with the file can still try single names. The tally shows whether all digests are as written.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS salt (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS people (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tally (
    id INTEGER PRIMARY KEY CHECK (id = 1), people INTEGER NOT NULL, digests BLOB NOT NULL) STRICT;`;

/** Returns the digest of a person; `salt` is the list's salt in hexadecimal. */
export const forgottenDigest = (username: string, salt: string): Buffer =>
  hash('sha256', `${salt} ${usernameKey(username)}`, 'buffer');

/** The first three bytes of a digest. Those of the whole list rule out most people who are not on it. */
const beginningOf = (digest: Uint8Array): number =>
  ((digest[0] ?? 0) << 16) | ((digest[1] ?? 0) << 8) | (digest[2] ?? 0);

/**
 * Opens the list in `folder`, and creates an empty one if there is none. Throws ForgottenListDamagedError if it is
 * damaged, or if the manifest names a list that is missing.
 */
export const openForgottenPeople = (folder: string): ForgottenPeople => {
  const claim = readForgottenClaim(folder);
  claim.hasList();
  const file = forgottenFile(folder);
  const database = new DatabaseSync(file, { timeout: 5_000 });
  try {
    // Spilling would lock gateways out long before the end of a large change.
    database.exec('PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_spill = OFF');
    const content = inTransaction(database, () => {
      database.exec(schema);
      database.prepare('INSERT OR IGNORE INTO salt VALUES (1, ?)').run(randomBytes(16));
      const salt = readSalt(database);
      claim.checkSalt(salt);
      const { beginnings, tally } = readDigests(database, salt);
      const stored = readTally(database);
      // Lists of earlier versions have no tally.
      if (stored === null) writeTally(database, tally);
      else if (!isSameTally(stored, tally)) throw new ForgottenListDamagedError(file);
      return { salt, beginnings, tally };
    });
    return describe(database, content);
  } catch (error) {
    database.close();
    throw isDamagedDatabase(error) ? new ForgottenListDamagedError(file, { cause: error }) : error;
  }
};

const inTransaction = <T>(database: DatabaseSync, work: () => T): T => {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
};

/** Returns the salt in hexadecimal. Throws if the list in `database` is incomplete. */
export const readSalt = (database: DatabaseSync): string => {
  const salt = database.prepare('SELECT hex(bytes) AS hex FROM salt').get()?.['hex'];
  if (typeof salt !== 'string') throw new Error('the list of forgotten people has no salt');
  return salt;
};

/** The number of people, and the sum without carry of all digests and a digest of the salt. */
interface Tally {
  people: number;
  digests: Buffer;
}

const emptyTally = (salt: string): Tally => ({ people: 0, digests: Buffer.from(markOfSalt(salt), 'hex') });

const changeTally = (tally: Tally, digest: Uint8Array, by: 1 | -1): void => {
  tally.people += by;
  for (let index = 0; index < digest.length; index += 1)
    tally.digests[index] = (tally.digests[index] ?? 0) ^ (digest[index] ?? 0);
};

const isSameTally = (some: Tally, other: Tally): boolean =>
  some.people === other.people && some.digests.equals(other.digests);

const readTally = (database: DatabaseSync): Tally | null => {
  const row = database.prepare('SELECT people, digests FROM tally').get();
  if (row === undefined) return null;
  const { people, digests } = row;
  return { people: Number(people), digests: Buffer.from(digests instanceof Uint8Array ? digests : []) };
};

const writeTally = (database: DatabaseSync, { people, digests }: Tally): void => {
  database.prepare('INSERT OR REPLACE INTO tally VALUES (1, ?, ?)').run(people, digests);
};

const describe = (
  database: DatabaseSync,
  { salt, beginnings, ...content }: { salt: string; beginnings: Set<number>; tally: Tally },
) => {
  let { tally } = content;
  const count = database.prepare('SELECT count(*) AS people FROM people');
  const select = database.prepare('SELECT 1 FROM people WHERE digest = ?');
  const insert = database.prepare('INSERT OR IGNORE INTO people VALUES (?)');
  const remove = database.prepare('DELETE FROM people WHERE digest = ?');
  const digestOf = (username: string): Buffer => forgottenDigest(username, salt);

  /** Returns the number of people for whom `statement` changed something. */
  const change = (usernames: readonly string[], statement: StatementSync, by: 1 | -1): number => {
    const next = { people: tally.people, digests: Buffer.from(tally.digests) };
    const changed = inTransaction(database, () => {
      const those = usernames.map(digestOf).filter((digest) => Number(statement.run(digest).changes) > 0);
      for (const digest of those) changeTally(next, digest, by);
      writeTally(database, next);
      return those;
    });
    tally = next;
    if (by > 0) for (const digest of changed) beginnings.add(beginningOf(digest));
    return changed.length;
  };

  return {
    /** The mark that a manifest stores for this list. */
    mark: markOfSalt(salt),
    count: (): number => Number(count.get()?.['people']),
    /** Fast: called for each profile of an import. */
    includes: (username: string): boolean => {
      if (beginnings.size === 0) return false;
      const digest = digestOf(username);
      return beginnings.has(beginningOf(digest)) && select.get(digest) !== undefined;
    },
    /** On the disk when it returns. */
    add: (usernames: readonly string[]): void => void change(usernames, insert, 1),
    /** Returns how many of them were on the list. */
    remove: (usernames: readonly string[]): number => change(usernames, remove, -1),
    close: (): void => database.close(),
  };
};

const readDigests = (database: DatabaseSync, salt: string) => {
  const beginnings = new Set<number>();
  const tally = emptyTally(salt);
  for (const { digest } of database.prepare('SELECT digest FROM people').iterate()) {
    if (!(digest instanceof Uint8Array)) continue;
    beginnings.add(beginningOf(digest));
    changeTally(tally, digest, 1);
  }
  return { beginnings, tally };
};
