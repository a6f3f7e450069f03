import { hash, randomBytes } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { usernameKey } from '../query/username-key.ts';
import { ForgottenListDamagedError, markOfSalt, readForgottenClaim } from './forgotten-claim.ts';
import { forgottenFile } from './lead-folder.ts';
import { isDamagedDatabase } from './segment/open-existing.ts';

/** The people who asked to be forgotten. Only digests of their names are stored. */
export interface ForgottenPeople {
  /** The mark that a manifest stores for this list. */
  readonly mark: string;
  count(): number;
  /** Fast: called for each profile of an import. */
  includes(username: string): boolean;
  /** On the disk when it returns. */
  add(usernames: readonly string[]): void;
  /** Returns how many of them were on the list. */
  remove(usernames: readonly string[]): number;
  close(): void;
}

/**
 * Digests are salted, so a precomputed list of all names is useless. The salt is in the same file, so somebody with the
 * file can still try single names. The tally shows whether all digests are as written.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS salt (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS people (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tally (
    id INTEGER PRIMARY KEY CHECK (id = 1), people INTEGER NOT NULL, digests BLOB NOT NULL) STRICT;`;

/** Returns the digest of a person; `salt` is the list's salt in hexadecimal. */
export const forgottenDigest = (username: string, salt: string): Buffer =>
  hash('sha256', `${salt} ${usernameKey(username)}`, 'buffer');

/** One bit for each value of a digest's first three bytes. It rules out most people who are not on the list. */
const sieveBytes = 2 ** 21;

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
    const inTransaction = createTransactions(database);
    const content = inTransaction(() => {
      database.exec(schema);
      database.prepare('INSERT OR IGNORE INTO salt VALUES (1, ?)').run(randomBytes(16));
      const salt = readSalt(database);
      claim.checkSalt(salt);
      const { sieve, tally } = readDigests(database, salt);
      const stored = readTally(database);
      // Lists of earlier versions have no tally.
      if (stored === null) writeTally(database, tally);
      else if (!isSameTally(stored, tally)) throw new ForgottenListDamagedError(file);
      return { salt, sieve, tally };
    });
    return describe(database, { ...content, inTransaction });
  } catch (error) {
    database.close();
    throw isDamagedDatabase(error) ? new ForgottenListDamagedError(file, { cause: error }) : error;
  }
};

type InTransaction = <T>(work: () => T) => T;

const createTransactions =
  (database: DatabaseSync): InTransaction =>
  (work) => {
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

/** Adds a digest to `tally`, or removes it. */
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

interface ListContent {
  salt: string;
  sieve: Sieve;
  tally: Tally;
}

const describe = (
  database: DatabaseSync,
  { salt, inTransaction, ...content }: ListContent & { inTransaction: InTransaction },
): ForgottenPeople => {
  const { sieve } = content;
  let { tally } = content;
  const count = database.prepare('SELECT count(*) AS people FROM people');
  const select = database.prepare('SELECT 1 FROM people WHERE digest = ?');
  const insert = database.prepare('INSERT OR IGNORE INTO people VALUES (?)');
  const remove = database.prepare('DELETE FROM people WHERE digest = ?');
  const digestOf = (username: string): Buffer => forgottenDigest(username, salt);

  /** Returns the number of people for whom `statement` changed something. */
  const change = (usernames: readonly string[], statement: StatementSync, by: 1 | -1): number => {
    const next = { people: tally.people, digests: Buffer.from(tally.digests) };
    const changed = inTransaction(() => {
      const those = usernames.map(digestOf).filter((digest) => Number(statement.run(digest).changes) > 0);
      for (const digest of those) changeTally(next, digest, by);
      writeTally(database, next);
      return those;
    });
    tally = next;
    if (by > 0) changed.forEach(sieve.add);
    return changed.length;
  };

  return {
    mark: markOfSalt(salt),
    count: () => Number(count.get()?.['people']),
    includes: (username) => {
      if (sieve.isEmpty()) return false;
      const digest = digestOf(username);
      return sieve.lets(digest) && select.get(digest) !== undefined;
    },
    add: (usernames) => void change(usernames, insert, 1),
    remove: (usernames) => change(usernames, remove, -1),
    close: () => database.close(),
  };
};

interface Sieve {
  isEmpty(): boolean;
  add(digest: Uint8Array): void;
  lets(digest: Uint8Array): boolean;
}

/** Computes the sieve and the tally from all people on the list. */
const readDigests = (database: DatabaseSync, salt: string): { sieve: Sieve; tally: Tally } => {
  const sieve = createSieve();
  const tally = emptyTally(salt);
  for (const { digest } of database.prepare('SELECT digest FROM people').iterate()) {
    if (!(digest instanceof Uint8Array)) continue;
    sieve.add(digest);
    changeTally(tally, digest, 1);
  }
  return { sieve, tally };
};

const createSieve = (): Sieve => {
  let bits: Uint8Array | null = null;
  const placeOf = (digest: Uint8Array): number =>
    ((digest[0] ?? 0) << 16) | ((digest[1] ?? 0) << 8) | (digest[2] ?? 0);
  return {
    isEmpty: () => bits === null,
    add: (digest) => {
      bits ??= new Uint8Array(sieveBytes);
      const place = placeOf(digest);
      bits[place >>> 3] = (bits[place >>> 3] ?? 0) | (1 << (place & 7));
    },
    lets: (digest) => {
      const place = placeOf(digest);
      return (((bits?.[place >>> 3] ?? 0) >>> (place & 7)) & 1) === 1;
    },
  };
};
