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

/** One person of a partition, with the profile that counts: the last of the input, else the one known before. */
export interface Person {
  username: string;
  followers: number;
  /** Where the profile's JSON is in the arena; -1 when there is none. */
  start: number;
  end: number;
  /** Rows of the input. */
  rows: number;
  /** Whether the spool has them as known. */
  isKnown: boolean;
}

export interface PersonTable {
  people: Map<string, Person>;
  /** Rows that were erased while they lay in the spool. */
  erased: number;
}

/** Which people of a partition are wanted: share `index` of `count` equal ones. */
export interface Share {
  index: number;
  count: number;
}

/**
 * The people of a share of a partition, their profiles copied to `arena`; null when these do not fit, so that a
 * smaller share is to be asked for. Rows that later ones replace are dropped as the arena fills, so a person who
 * comes again and again takes no more room than one who comes once.
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
      // Known profiles come after all rows of the input, and count only where there was none.
      const length = end - nameEnd;
      if (kind === recordKinds.known && (person.rows > 0 || length === 0)) continue;
      if (filled + length > arena.length) {
        person.start = -1;
        filled = compact(people, arena);
        // Room that is nearly all in use would be made again for every few rows.
        if (filled + length > arena.length * mostInUse) return null;
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

const mostInUse = 0.75;

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

/** Moves the rows that count to the front of the arena; returns where they end. */
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
