import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import { usernameKey } from '../../query/username-key.ts';
import { createConditionLookup } from './condition-lists.ts';
import { openDictionary } from './dictionary.ts';
import { firstUncounted, queryConditions, readCounted } from '../../query/index-terms.ts';
import { compareLeads } from '../../query/lead-order.ts';
import { createChunkSpace } from './intersect-chunks.ts';
import type { RowRange } from './intersect-chunks.ts';
import { intersectRows } from './intersect-rows.ts';
import { createRangeFinder } from './follower-table.ts';
import { createNameReader } from './name-table.ts';
import { firstBeyond } from './lower-bound.ts';
import { isDamagedDatabase, openExisting } from './open-existing.ts';
import { isInSet, type RowSet } from './row-set.ts';
import {
  erasedCrc,
  profileCrc,
  SegmentDamagedError,
  sealNames,
  segmentFormat,
  unseal,
  type SegmentHead,
} from './segment-format.ts';
import { createOpenList } from './stored-lists.ts';

export interface StoredLead {
  row: number;
  lead: Lead;
  json: string;
}

/** An open segment. Everything is synchronous and belongs in a worker thread. */
export type Segment = ReturnType<typeof readSegment>;

/**
 * Opens the segment in `file`. It and all methods throw SegmentDamagedError if the file is not as it was written.
 * Erased profiles (erase-rows.ts) are skipped like gone ones.
 */
export const openSegment = (file: string, { fewRows }: { fewRows?: number } = {}): Segment => {
  const database = openExisting(file, { timeoutMs: 5_000 });
  try {
    return detectDamage(() => readSegment(database, fewRows))();
  } catch (error) {
    database.close();
    throw error;
  }
};

const readSegment = (database: DatabaseSync, fewRows: number | undefined) => {
  database.exec('PRAGMA query_only = ON; PRAGMA cache_size = -32768');
  const { unicode: folding, profiles, blocks, shape } = readHead(database);
  const openList = createOpenList(database, shape);
  const space = createChunkSpace(shape, fewRows);
  const dictionary = openDictionary(database, { blocks, shape });
  const lookUp = createConditionLookup(database, { dictionary, shape });
  const namesakes = createNameReader(database, { profiles });
  const { readProfile, readProfiles } = createProfileReader(database);
  const readStretch = detectDamage(readProfiles);
  const rangeOf = createPageFinder(createRangeFinder(database, { profiles }), readProfile);

  /** Returns the first matching profiles in result order, without those in `gone`. */
  const search = (query: LeadQuery, gone: RowSet | null): Lead[] => {
    const conditions = queryConditions(query);
    const range = rangeOf(query);
    if (conditions === null || range === null) return [];
    const leads: Lead[] = [];
    const rows =
      conditions.length === 0
        ? rowsIn(range, gone)
        : intersectRows(conditions.map(lookUp), { range, openList, shape, space });
    for (const row of rows) {
      if (gone !== null && isInSet(gone, row)) continue;
      const stored = readProfile(row);
      if (stored === null) continue;
      if (
        stored.lead.followers < (query.minFollowers ?? 0) ||
        stored.lead.followers > (query.maxFollowers ?? Infinity)
      )
        throw new SegmentDamagedError('the profiles are out of order');
      leads.push(stored.lead);
      if (leads.length >= query.limit) break;
    }
    return leads;
  };

  const find = (username: string): StoredLead | null => {
    const key = usernameKey(username);
    for (const row of namesakes(username)) {
      const stored = readProfile(row);
      if (stored !== null && usernameKey(stored.lead.username) === key) return stored;
    }
    return null;
  };

  /** Yields all profiles except those in `gone`, in result order. */
  function* scan(gone: RowSet | null): Generator<StoredLead> {
    for (let first = 0; first < profiles; first += scanRows) {
      const count = Math.min(scanRows, profiles - first);
      for (const stored of readStretch({ first, count })) {
        const isGone = stored !== null && gone !== null && isInSet(gone, stored.row);
        if (stored !== null && !isGone) yield stored;
      }
    }
  }

  /** Returns how many profiles have each country and each category, gone and erased ones included. */
  const countFilters = () =>
    [...dictionary.countsBefore(firstUncounted, maxCountedTerms)].map(({ term, rows }) => ({
      ...readCounted(term),
      profiles: rows,
    }));

  return {
    profiles,
    countFilters: detectDamage(countFilters),
    /** The version of the folding of its terms (fold-text.ts). */
    folding,
    search: detectDamage(search),
    find: detectDamage(find),
    scan,
    close: (): void => database.close(),
  };
};

/** Returns a function that finds the rows that a query's range of followers and its cursor leave; null if there are none. */
const createPageFinder = (
  followerRange: (query: LeadQuery) => RowRange | null,
  readProfile: (row: number) => StoredLead | null,
): ((query: LeadQuery) => RowRange | null) => {
  /** Returns the first row behind the profile of a cursor, among those with as many followers. */
  const firstBehind = (after: NonNullable<LeadQuery['after']>): number => {
    const { followers } = after;
    const ties = followerRange({ limit: 1, minFollowers: followers, maxFollowers: followers });
    if (ties === null) return 0;
    const isBehind = (row: number): boolean => {
      for (let next = row; next <= ties.last; next += 1) {
        const stored = readProfile(next);
        if (stored !== null) return compareLeads(stored.lead, after) > 0;
      }
      return true;
    };
    return ties.first + firstBeyond(ties.last + 1 - ties.first, (place) => isBehind(ties.first + place));
  };

  return (query) => {
    const { after, maxFollowers = Infinity } = query;
    if (after === undefined) return followerRange(query);
    const range = followerRange({ ...query, maxFollowers: Math.min(maxFollowers, after.followers) });
    if (range === null) return null;
    const first = Math.max(range.first, firstBehind(after));
    return first > range.last ? null : { first, last: range.last };
  };
};

/** Yields the rows of a range. Skips 32 gone rows at once, because a delta may replace the top of the base. */
function* rowsIn({ first, last }: RowRange, gone: RowSet | null): Generator<number> {
  for (let row = first; row <= last; row += 1) {
    if (gone?.words[row >>> 5] === 0xffff_ffff) row |= 31;
    else yield row;
  }
}

const readHead = (database: DatabaseSync): SegmentHead => {
  const row = database.prepare('SELECT head FROM segment').get();
  const head: SegmentHead = JSON.parse(Buffer.from(unseal(row?.['head'], sealNames.head)).toString());
  if (head.format !== segmentFormat)
    throw new SegmentDamagedError(`its format is ${head.format}, not ${segmentFormat}`);
  return head;
};

const scanRows = 256;

/** Countries come first, then categories. Of so many categories, those beyond in the alphabet are not counted. */
const maxCountedTerms = 10_000;

/** The functions return null for a profile that was erased. */
const createProfileReader = (database: DatabaseSync) => {
  const readOne = database.prepare('SELECT crc, lead FROM profiles WHERE row = ?');
  const readSome = database.prepare(
    'SELECT row, crc, lead FROM profiles WHERE row >= ? ORDER BY row LIMIT ?',
  );

  const toStored = (row: number, found: Record<string, SQLOutputValue> | undefined): StoredLead | null => {
    if (found === undefined) throw new SegmentDamagedError(`profile ${row} is missing`);
    const { crc, lead: bytes } = found;
    if (bytes === null && crc === erasedCrc) return null;
    if (!(bytes instanceof Uint8Array) || profileCrc(bytes, row) !== crc)
      throw new SegmentDamagedError(`profile ${row} is damaged`);
    const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
    const lead: Lead = JSON.parse(json);
    return { row, lead, json };
  };
  return {
    readProfile: (row: number): StoredLead | null => toStored(row, readOne.get(row)),
    /** Reads `count` rows from `first` on, which must exist. */
    readProfiles: ({ first, count }: { first: number; count: number }): (StoredLead | null)[] => {
      const found = readSome.all(first, count);
      return Array.from({ length: count }, (_, index) => {
        const profile = found[index];
        return toStored(first + index, profile?.['row'] === first + index ? profile : undefined);
      });
    },
  };
};

/** Wraps `work` so that SQLite's damage errors and unreadable bytes become SegmentDamagedError. */
const detectDamage =
  <Arguments extends unknown[], T>(work: (...given: Arguments) => T): ((...given: Arguments) => T) =>
  (...given) => {
    try {
      return work(...given);
    } catch (error) {
      if (isDamage(error))
        throw new SegmentDamagedError(`the lead index is damaged: ${String(error)}`, {
          cause: error,
        });
      throw error;
    }
  };

const isDamage = (error: unknown): boolean =>
  error instanceof RangeError || error instanceof SyntaxError || isDamagedDatabase(error);
