import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareLeads } from '../../query/lead-order.ts';
import { readPeople, type Person, type Share } from './person-table.ts';
import type { Run, RunFile } from './run-file.ts';
import { partitions } from './spool-format.ts';
import type { SpoolReader } from './spool-reader.ts';

export interface SortPartitionsInput {
  spool: SpoolReader;
  runs: RunFile;
  isForgotten: (username: string) => boolean;
  /** Called once per person with a row who is not left out. True if their profile is already in the index. */
  isKnown: (person: Person) => boolean;
  signal: AbortSignal;
  arenaBytes: number;
}

export interface SortedPartitions {
  runs: Run[];
  profiles: number;
  /** Counts of the input, as in ImportOutcome. */
  added: number;
  updated: number;
  repeated: number;
  forgotten: number;
}

/** With more shares the hash no longer separates people. A share then has some thousands of bytes. */
const maxShares = 2 ** 20;

/**
 * Writes the valid profile of each person in the spool as sorted runs, at least one per partition. Memory is limited to
 * the arena: a partition that does not fit is read in shares, once for each.
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
  if (count >= maxShares) throw new RangeError('A partition is too large to be sorted.');
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
      // A forgotten person may still be searched after an interrupted deletion. This ends that.
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
