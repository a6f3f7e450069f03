import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareLeads } from '../../query/lead-order.ts';
import { readPeople, type Person, type Share } from './person-table.ts';
import type { Run, RunFile } from './run-file.ts';
import { partitions } from './spool-format.ts';
import type { SpoolReader } from './spool-reader.ts';

export interface SortPartitionsInput {
  spool: SpoolReader;
  runs: RunFile;
  /** Whether the person's rows are left out. */
  isForgotten: (username: string) => boolean;
  /** Asked once about each person with a row who is not left out: whether their profile is searched already. */
  isKnown: (person: Person) => boolean;
  signal: AbortSignal;
  /** The memory for the rows of one partition. */
  arenaBytes: number;
}

export interface SortedPartitions {
  runs: Run[];
  profiles: number;
  /** The input's, as ImportOutcome has them. */
  added: number;
  updated: number;
  repeated: number;
  forgotten: number;
}

/** Beyond so many shares the hash tells people no more apart; a share is then some thousands of bytes. */
const mostShares = 2 ** 20;

/**
 * Writes the profile that counts of each person in the spool as sorted runs, one or more a partition. Memory is that of the arena,
 * whatever the number of rows: a partition of more people than fit is taken in shares, and read once for each.
 */
export const sortPartitions = async ({
  arenaBytes,
  signal,
  ...input
}: SortPartitionsInput): Promise<SortedPartitions> => {
  const sizes = Array.from({ length: partitions }, (_, partition) => input.spool.bytesOf(partition));
  const arena = Buffer.allocUnsafe(Math.min(arenaBytes, Math.max(...sizes)));
  const sorted: SortedPartitions = { runs: [], profiles: 0, added: 0, updated: 0, repeated: 0, forgotten: 0 };
  for (const [partition, size] of sizes.entries()) {
    const shares: Share[] = size === 0 ? [] : [{ index: 0, count: 1 }];
    for (let share = shares.pop(); share !== undefined; share = shares.pop()) {
      signal.throwIfAborted();
      const table = readPeople(input.spool, { partition, share, arena });
      if (table === null) shares.push(...halvesOf(share));
      else {
        sorted.forgotten += table.erased;
        sortShare(table.people.values(), { ...input, arena, sorted });
      }
      await nextTurn();
    }
  }
  return sorted;
};

const halvesOf = ({ index, count }: Share): Share[] => {
  if (count >= mostShares) throw new RangeError('A part of the rows is too large to be sorted.');
  return [
    { index, count: count * 2 },
    { index: index + count, count: count * 2 },
  ];
};

const sortShare = (
  people: Iterable<Person>,
  {
    runs,
    isForgotten,
    isKnown,
    arena,
    sorted,
  }: Pick<SortPartitionsInput, 'runs' | 'isForgotten' | 'isKnown'> & {
    arena: Buffer;
    sorted: SortedPartitions;
  },
): void => {
  const kept: Person[] = [];
  for (const person of people) {
    if (isForgotten(person.username)) {
      sorted.forgotten += person.rows;
      // Whoever is searched although forgotten, as after a forgetting that was interrupted, is searched no more.
      if (person.rows > 0) isKnown(person);
      continue;
    }
    if (person.rows > 0) {
      sorted.repeated += person.rows - 1;
      if (isKnown(person)) sorted.updated += 1;
      else sorted.added += 1;
    }
    if (person.start >= 0) kept.push(person);
  }
  sorted.profiles += kept.length;
  if (kept.length > 0) sorted.runs.push(runs.write(arena, kept.sort(compareLeads)));
};
