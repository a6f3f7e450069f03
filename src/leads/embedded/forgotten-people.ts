import { hash, randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { usernameKey } from '../username-key.ts';
import { forgottenFile } from './lead-folder.ts';

/** The people who asked to be forgotten, known by digests of their names alone. */
export interface ForgottenPeople {
  count(): number;
  /** Fast: it is asked for each profile of an import. */
  includes(username: string): boolean;
  /** On the disk when it returns. */
  add(usernames: readonly string[]): void;
  /** How many of them were there. */
  remove(usernames: readonly string[]): number;
  close(): void;
}

/**
 * A digest is salted, so that a list of digests of all names, made beforehand, opens none; the salt stands in the same
 * file, so who has the file can still try names one by one.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS salt (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS people (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;`;

/** What a person is known by in the list; `salt` is its salt in hexadecimal. */
export const forgottenDigest = (username: string, salt: string): Buffer =>
  hash('sha256', `${salt} ${usernameKey(username)}`, 'buffer');

/** One bit for each value of a digest's first three bytes: most who are not there are known by it at once. */
const sieveBytes = 2 ** 21;

/** Opens the list in `folder`, and makes an empty one where there is none. */
export const openForgottenPeople = (folder: string): ForgottenPeople => {
  const database = new DatabaseSync(forgottenFile(folder), { timeout: 5_000 });
  try {
    // Spilling would lock gateways out long before the end of a large change.
    database.exec('PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_spill = OFF');
    const inTransaction = createTransactions(database);
    inTransaction(() => {
      database.exec(schema);
      database.prepare('INSERT OR IGNORE INTO salt VALUES (1, ?)').run(randomBytes(16));
    });
    return describe(database, inTransaction);
  } catch (error) {
    database.close();
    throw error;
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

/** In hexadecimal. Throws when the list in `database` is not whole. */
export const readSalt = (database: DatabaseSync): string => {
  const salt = database.prepare('SELECT hex(bytes) AS hex FROM salt').get()?.['hex'];
  if (typeof salt !== 'string') throw new Error('the list of forgotten people has no salt');
  return salt;
};

const describe = (database: DatabaseSync, inTransaction: InTransaction): ForgottenPeople => {
  const salt = readSalt(database);
  const count = database.prepare('SELECT count(*) AS people FROM people');
  const select = database.prepare('SELECT 1 FROM people WHERE digest = ?');
  const insert = database.prepare('INSERT OR IGNORE INTO people VALUES (?)');
  const remove = database.prepare('DELETE FROM people WHERE digest = ?');
  const digestOf = (username: string): Buffer => forgottenDigest(username, salt);
  const sieve = readSieve(database);

  return {
    count: () => Number(count.get()?.['people']),
    includes: (username) => {
      if (sieve.isEmpty()) return false;
      const digest = digestOf(username);
      return sieve.lets(digest) && select.get(digest) !== undefined;
    },
    add: (usernames) =>
      inTransaction(() => {
        for (const digest of usernames.map(digestOf)) {
          insert.run(digest);
          sieve.add(digest);
        }
      }),
    remove: (usernames) =>
      inTransaction(() =>
        usernames.reduce((removed, username) => removed + Number(remove.run(digestOf(username)).changes), 0),
      ),
    close: () => database.close(),
  };
};

interface Sieve {
  isEmpty(): boolean;
  add(digest: Uint8Array): void;
  lets(digest: Uint8Array): boolean;
}

/** The sieve of all who are in the list now. */
const readSieve = (database: DatabaseSync): Sieve => {
  let bits: Uint8Array | null = null;
  const placeOf = (digest: Uint8Array): number =>
    ((digest[0] ?? 0) << 16) | ((digest[1] ?? 0) << 8) | (digest[2] ?? 0);
  const sieve: Sieve = {
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
  for (const { digest } of database.prepare('SELECT digest FROM people').iterate())
    if (digest instanceof Uint8Array) sieve.add(digest);
  return sieve;
};
