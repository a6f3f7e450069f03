import { existsSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { packLead, unpackLead } from '../lead-fields.ts';
import { filterTerms, indexTerms, queryConditions } from '../query/index-terms.ts';
import { compareLeads } from '../query/lead-filters.ts';
import { usernameKey } from '../query/fold-text.ts';

/** Raise this with every change that makes older files unreadable. */
export const fileFormat = 3;

/*
 * One SQLite file holds the profiles. Row ids ascend in the order of results, except among equal followers. The full-text
 * index stores no text and no positions. `import` numbers the import that stored a row. `user_version` is the number of
 * profiles, because counting takes as long as reading them all.
 */
const schema = `
  PRAGMA page_size = 8192;
  CREATE TABLE people (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, username TEXT NOT NULL, lead TEXT NOT NULL, import INTEGER NOT NULL
  ) STRICT;
  CREATE VIRTUAL TABLE words USING fts5(
    terms, content='', contentless_delete=1, detail=none, tokenize='ascii', prefix='3 4 5'
  );
  INSERT INTO words (words, rank) VALUES ('hashsize', 67108864);`;

/**
 * Opens a file that nobody reads yet, to write a whole set of profiles. Nothing of it is safe before it is closed: a write that
 * ended early leaves a file to throw away.
 */
export const openToWrite = (file: string, { isNew }: { isNew: boolean }): DatabaseSync => {
  const database = new DatabaseSync(file, { timeout: changeTimeoutMs });
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -131072; PRAGMA secure_delete = ON');
  if (isNew) database.exec(schema);
  return database;
};

/** The manifest, or the file that it names, is not as it was written. The message says what to do. */
export class ProfilesDamagedError extends Error {
  override readonly name = 'ProfilesDamagedError';

  constructor(problem: string, options?: ErrorOptions) {
    super(
      `${problem}; restore a backup of the folder, or import all profiles again with \`leads import --replace\``,
      options,
    );
  }
}

/**
 * Opens an existing file for searches and deletions. Throws ProfilesDamagedError if it is missing. It is open for writing
 * even if it is only read: a read-only connection could not roll back a deletion that a crash interrupted.
 */
export const openToRead = (file: string, { timeoutMs }: { timeoutMs: number }): DatabaseSync => {
  if (!existsSync(file)) throw new ProfilesDamagedError(`${file} is missing`);
  const url = pathToFileURL(file);
  url.searchParams.set('mode', 'rw');
  return new DatabaseSync(url, { timeout: timeoutMs });
};

/** Deletions wait for each other and for the steps of a copy, and those for them. */
export const changeTimeoutMs = 60_000;

/** Opens a file for one use, and closes it. */
export const useProfiles = <T>(file: string, use: (database: DatabaseSync) => T): T => {
  using database = openToRead(file, { timeoutMs: changeTimeoutMs });
  return use(database);
};

/**
 * Copies a file in steps. A deletion between two of them, which would keep searches waiting if it waited, makes SQLite
 * begin anew. SQLite copies it, because a process that opens and closes the file itself loses the locks of its other
 * connections. When `signal` aborts, rejects with its reason.
 */
export const copyProfiles = async (from: string, to: string, signal?: AbortSignal): Promise<void> => {
  using database = openToRead(from, { timeoutMs: changeTimeoutMs });
  await backup(database, to, { progress: () => signal?.throwIfAborted() });
};

/** SQLITE_ERROR (unexpected tables), SQLITE_CORRUPT, SQLITE_NOTADB and FTS5's own report of damage. */
const damageCodes = new Set([1, 11, 26]);

/** Returns true if `error` means that the profiles are not as they were written. */
export const isDamage = (error: unknown): boolean =>
  error instanceof ProfilesDamagedError ||
  (error instanceof Error && 'errcode' in error && damageCodes.has(Number(error.errcode) & 0xff));

const mostFollowers = 2 ** 31 - 1;
/** How many profiles may have equally many followers. */
const idsPerCount = 2 ** 21;

const firstIdOf = (followers: number): number =>
  (mostFollowers - Math.min(followers, mostFollowers)) * idsPerCount;
const lastIdOf = (followers: number): number => firstIdOf(followers) + idsPerCount - 1;
const followersOf = (id: number): number => mostFollowers - Math.floor(id / idsPerCount);

const readLead = (row: Record<string, unknown>): Lead => {
  try {
    return unpackLead(String(row['lead']));
  } catch (cause) {
    throw new ProfilesDamagedError('a profile is damaged', { cause });
  }
};

/** Followers in powers of two. Bands narrow a search, as each is a term of the index. */
const bandTerm = (band: number): string => `\u{F0003}${band}`;
const bandOf = (followers: number): number => Math.floor(Math.log2(followers + 1));
/** A search of more bands intersects the other terms faster without them. */
const mostBands = 8;

const termsOf = (lead: Lead): string => [...indexTerms(lead), bandTerm(bandOf(lead.followers))].join(' ');

/** Returns a query in the syntax of MATCH; null if nothing can match, '' without conditions. */
const matchOf = (query: LeadQuery): string | null => {
  const conditions = queryConditions(query);
  if (conditions === null) return null;
  const parts = conditions.map(({ text, isPrefix }) => `"${text}"${isPrefix ? ' *' : ''}`);
  const first = bandOf(query.minFollowers ?? 0);
  const bands = bandOf(Math.min(query.maxFollowers ?? mostFollowers, mostFollowers)) - first + 1;
  if (parts.length > 0 && bands > 0 && bands <= mostBands)
    parts.push(
      `(${Array.from({ length: bands }, (_, index) => `"${bandTerm(first + index)}"`).join(' OR ')})`,
    );
  return parts.join(' AND ');
};

const toFound = ({ id, username }: Record<string, unknown>) => ({
  id: Number(id),
  username: String(username),
  followers: followersOf(Number(id)),
});

/** Returns a function that finds profiles in the order of results. */
export const createSearch = (database: DatabaseSync): ((query: LeadQuery) => Lead[]) => {
  const matching = 'SELECT rowid AS id FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?';
  const all = 'SELECT id FROM people WHERE id BETWEEN ? AND ?';
  const statements = [matching, all].map((found) => ({
    byId: database.prepare(
      `SELECT people.id, username FROM (${found} ORDER BY 1 LIMIT ?) AS found CROSS JOIN people USING (id) ORDER BY found.id`,
    ),
    byName: database.prepare(
      `SELECT people.id, username FROM (${found}) AS found CROSS JOIN people USING (id)
       WHERE username >= ? ORDER BY username LIMIT ?`,
    ),
  }));
  const read = database.prepare('SELECT lead FROM people WHERE id = ?');

  return (query) => {
    const match = matchOf(query);
    const [matches, everybody] = statements;
    const used = match === '' ? everybody : matches;
    if (match === null || used === undefined) return [];
    const { after, limit, minFollowers = 0, maxFollowers = mostFollowers } = query;
    const conditions = match === '' ? [] : [match];
    /** Those behind `after`, or the first ones, of the people with equally many followers. */
    const findEqual = (followers: number) =>
      used.byName
        .all(
          ...conditions,
          firstIdOf(followers),
          lastIdOf(followers),
          // No name comes between a name and this.
          after?.followers === followers ? `${after.username}\0` : '',
          limit,
        )
        .map(toFound);

    const last = lastIdOf(minFollowers);
    let from = firstIdOf(Math.min(maxFollowers, after === undefined ? mostFollowers : after.followers - 1));
    const isInRange =
      after !== undefined &&
      after.followers >= minFollowers &&
      after.followers <= Math.min(maxFollowers, mostFollowers);
    const found = isInRange ? findEqual(after.followers) : [];
    // Ids do not order those who have equally many followers, so the last of them in a round are read by their names.
    while (found.length < limit && from <= last) {
      const round = used.byId.all(...conditions, from, last, limit).map(toFound);
      const fewest = round.length < limit ? undefined : round.at(-1)?.followers;
      found.push(...round.filter(({ followers }) => followers !== fewest).sort(compareLeads));
      if (fewest === undefined) break;
      found.push(...findEqual(fewest));
      from = lastIdOf(fewest) + 1;
    }
    // Somebody who was found may be deleted meanwhile.
    return found.slice(0, limit).flatMap(({ id }) => read.all(id).map(readLead));
  };
};

/** Rows that are read together. No lock is held between them. */
const rowsAtOnce = 2_000;

/** Yields all profiles in the order of results. */
export function* scanLeads(database: DatabaseSync): Generator<Lead> {
  const read = database.prepare('SELECT id, lead FROM people WHERE id > ? ORDER BY id LIMIT ?');
  let same: Lead[] = [];
  let last = -1;
  for (;;) {
    const rows = read.all(last, rowsAtOnce);
    for (const { id, lead: packed } of rows) {
      last = Number(id);
      const lead = readLead({ lead: packed });
      if (same[0] !== undefined && same[0].followers !== lead.followers) {
        yield* same.sort(compareLeads);
        same = [];
      }
      same.push(lead);
    }
    if (rows.length < rowsAtOnce) return yield* same.sort(compareLeads);
  }
}

export interface Stored {
  added: number;
  /** Profiles that were there before this import. */
  updated: number;
  /** Rows that a later row of the same import replaced. */
  repeated: number;
}

/** Returns a function that stores rows of the import `number`, the last row of a person last. */
export const createWriter = (
  database: DatabaseSync,
  number: number,
): ((leads: readonly Lead[]) => Stored) => {
  const findKey = database.prepare('SELECT id, import FROM people WHERE key = ?');
  const lastTaken = database.prepare('SELECT max(id) AS id FROM people WHERE id BETWEEN ? AND ?');
  const isTaken = database.prepare('SELECT 1 FROM people WHERE id = ?');
  const beforeGap = database.prepare(
    `SELECT id FROM people AS one WHERE id BETWEEN ? AND ?
      AND NOT EXISTS (SELECT 1 FROM people WHERE id = one.id + 1) ORDER BY id LIMIT 1`,
  );
  const insert = database.prepare('INSERT INTO people VALUES (?, ?, ?, ?, ?)');
  const index = database.prepare('INSERT INTO words (rowid, terms) VALUES (?, ?)');

  /** Yields the ids after the last profile with so many followers, then those of profiles that were replaced. */
  function* freeIds(followers: number): Generator<number, never> {
    const [first, last] = [firstIdOf(followers), lastIdOf(followers)];
    for (let id = Number(lastTaken.get(first, last)?.['id'] ?? first - 1); id < last;) yield (id += 1);
    for (let id = first; ; id += 1) {
      if (isTaken.get(id) !== undefined) id = Number(beforeGap.get(id, last)?.['id'] ?? last) + 1;
      if (id > last) break;
      yield id;
    }
    throw new RangeError(
      `more than ${idsPerCount.toLocaleString('en-US')} profiles have ${followers} followers`,
    );
  }

  return (leads) => {
    const taken = new Map(leads.map((lead) => [usernameKey(lead.username), lead]));
    const stored: Stored = { added: 0, updated: 0, repeated: leads.length - taken.size };
    const replaced: number[] = [];
    database.exec('BEGIN IMMEDIATE');
    for (const key of taken.keys()) {
      const found = findKey.get(key);
      if (found !== undefined) replaced.push(Number(found['id']));
      if (Number(found?.['import']) === number) stored.repeated += 1;
      else if (found !== undefined) stored.updated += 1;
      else stored.added += 1;
    }
    deleteRows(database, replaced);
    let group = -1;
    let ids = freeIds(0);
    // In ascending order, because FTS5 writes a segment whenever the row ids fall.
    for (const [key, lead] of [...taken].sort(([, a], [, b]) => compareLeads(a, b))) {
      if (lead.followers !== group) {
        group = lead.followers;
        ids = freeIds(group);
      }
      const id = ids.next().value;
      insert.run(id, key, lead.username, packLead(lead), number);
      index.run(id, termsOf(lead));
    }
    database.exec('COMMIT');
    return stored;
  };
};

const deleteRows = (database: DatabaseSync, ids: readonly number[]): void => {
  const deleteWords = database.prepare('DELETE FROM words WHERE rowid = ?');
  const deletePerson = database.prepare('DELETE FROM people WHERE id = ?');
  for (const id of ids.toSorted((a, b) => a - b)) {
    deleteWords.run(id);
    deletePerson.run(id);
  }
};

/** Deletes people by their keys. Returns how many had a profile. The index lists their words until it is merged. */
export const deletePeople = (database: DatabaseSync, keys: Iterable<string>): number => {
  const find = database.prepare('SELECT id FROM people WHERE key = ?');
  const ids = [...new Set(keys)].flatMap((key) => find.all(key).map(({ id }) => Number(id)));
  deleteRows(database, ids);
  setCount(database, storedCount(database) - ids.length);
  return ids.length;
};

/** Returns the keys of the people for whom `isMeant` is true. */
export const findPeople = (database: DatabaseSync, isMeant: (key: string) => boolean): string[] => {
  const keys: string[] = [];
  for (const { key } of database.prepare('SELECT key FROM people').iterate())
    if (isMeant(String(key))) keys.push(String(key));
  return keys;
};

/** Pages of the index that are merged in one step. */
const mergedPages = 2_000;

/**
 * Merges the index, after which it has nothing of deleted rows. Yields after each step, which takes a fraction of a
 * second.
 */
export function* mergeIndex(database: DatabaseSync): Generator<void> {
  const merge = database.prepare(`INSERT INTO words (words, rank) VALUES ('merge', ?)`);
  const changes = database.prepare('SELECT total_changes() AS changes');
  const changed = (): number => Number(changes.get()?.['changes']);
  // A negative number first puts all segments on one level.
  for (let pages = -mergedPages; ; pages = mergedPages) {
    const before = changed();
    merge.run(pages);
    if (changed() - before < 2) return;
    yield;
  }
}

/** Returns the number of profiles as of `countPeople` and the deletions since. */
export const storedCount = (database: DatabaseSync): number =>
  Number(database.prepare('PRAGMA user_version').get()?.['user_version']);

const setCount = (database: DatabaseSync, people: number): void =>
  database.exec(`PRAGMA user_version = ${people}`);

/** Counts the profiles, and stores their number. */
export const countPeople = (database: DatabaseSync): number => {
  const people = Number(database.prepare('SELECT count(*) AS people FROM people').get()?.['people']);
  setCount(database, people);
  return people;
};

/** Counts the profiles of each value of a filter. Call it after `mergeIndex`. */
export const countValues = (database: DatabaseSync, filter: 'country' | 'category'): Map<string, number> => {
  database.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab('main', 'words', 'row')`);
  const { from, to, valueOf } = filterTerms(filter);
  const rows = database
    .prepare('SELECT term, doc FROM temp.terms WHERE term >= ? AND term < ?')
    .all(from, to);
  return new Map(rows.map(({ term, doc }) => [valueOf(String(term)), Number(doc)]));
};
