import { usernameKey } from '../../query/username-key.ts';
import {
  chunkHeaderBytes,
  hashOfPerson,
  partitions,
  recordHeaderBytes,
  recordKinds,
  SpoolDamagedError,
} from './spool-format.ts';
import type { SpoolReader } from './spool-reader.ts';

/** One person of a partition, with the valid profile: the last one of the input, or else the known one. */
export interface Person {
  username: string;
  followers: number;
  /** The start of the profile's JSON in the arena; -1 if there is none. */
  start: number;
  end: number;
  rows: number;
  isKnown: boolean;
}

export interface PersonTable {
  people: Map<string, Person>;
  erased: number;
}

/** Selects people of a partition: share `index` of `count` equal ones. */
export interface Share {
  index: number;
  count: number;
}

/**
 * Reads the people of a share of a partition and copies their profiles to `arena`. Returns null if they do not fit, so
 * the caller must ask for a smaller share. Replaced rows are dropped when the arena fills, so a person with many rows
 * needs no more room than one with a single row.
 */
export const readPeople = (
  spool: SpoolReader,
  { partition, share, arena }: { partition: number; share: Share; arena: Buffer },
): PersonTable | null => {
  const people = new Map<string, Person>();
  let filled = 0;
  let erased = 0;
  for (const { bytes } of spool.chunks(partition)) {
    for (let start = chunkHeaderBytes; start < bytes.length;) {
      const end = start + bytes.readUInt32LE(start);
      const kind = bytes.readUInt16LE(start + 4);
      const nameEnd = start + recordHeaderBytes + bytes.readUInt16LE(start + 6);
      if (nameEnd > end || end > bytes.length) throw new SpoolDamagedError('A record has a wrong length.');
      const followers = bytes.readUInt32LE(start + 8);
      const username = bytes.toString('utf8', start + recordHeaderBytes, nameEnd);
      start = end;
      if (kind === recordKinds.erased) {
        erased += share.index === 0 ? 1 : 0;
        continue;
      }
      if (share.count > 1 && !isInShare(username, share)) continue;
      const person = personIn(people, username);
      if (kind === recordKinds.known) person.isKnown = true;
      else person.rows += 1;
      // Known profiles come after all rows of the input, and count only if there was none.
      const length = end - nameEnd;
      if (kind === recordKinds.known && (person.rows > 0 || length === 0)) continue;
      if (filled + length > arena.length) {
        person.start = -1;
        filled = compact(people, arena);
        // If nearly all room is in use, it would be compacted again after every few rows.
        if (filled + length > arena.length * maxInUse) return null;
      }
      bytes.copy(arena, filled, nameEnd, end);
      person.username = username;
      person.followers = followers;
      person.start = filled;
      filled += length;
      person.end = filled;
    }
  }
  return { people, erased };
};

const maxInUse = 0.75;

const isInShare = (username: string, { index, count }: Share): boolean =>
  Math.floor(hashOfPerson(username) / partitions) % count === index;

const personIn = (people: Map<string, Person>, username: string): Person => {
  const key = usernameKey(username);
  const known = people.get(key);
  if (known !== undefined) return known;
  const person = { username, followers: 0, start: -1, end: -1, rows: 0, isKnown: false };
  people.set(key, person);
  return person;
};

/** Moves the valid rows to the front of the arena. Returns their end. */
const compact = (people: ReadonlyMap<string, Person>, arena: Buffer): number => {
  let filled = 0;
  const kept = [...people.values()].filter(({ start }) => start >= 0).sort((a, b) => a.start - b.start);
  for (const person of kept) {
    arena.copyWithin(filled, person.start, person.end);
    const length = person.end - person.start;
    person.start = filled;
    filled += length;
    person.end = filled;
  }
  return filled;
};
