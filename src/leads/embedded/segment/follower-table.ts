import type { DatabaseSync } from 'node:sqlite';
import type { LeadQuery } from '../../lead-source.ts';
import type { RowRange } from './intersect-chunks.ts';
import { firstBeyond } from './lower-bound.ts';
import { SegmentDamagedError, seal, sealNames, unseal } from './segment-format.ts';

/*
 * The followers of each row, in blocks. The first value of each block is in memory. Rows are in descending order of
 * followers, so a binary search finds the rows of a range.
 */
const blockRows = 1024;

export const createFollowerWriter = (database: DatabaseSync) => {
  const insert = database.prepare('INSERT INTO followers VALUES (?, ?)');
  const block = new Uint32Array(blockRows);
  let blocks = 0;
  let rows = 0;
  const endBlock = (): void => {
    insert.run(blocks, seal(new Uint8Array(block.buffer, 0, rows * 4), sealNames.followers(blocks)));
    blocks += 1;
    rows = 0;
  };
  return {
    add: (followers: number): void => {
      if (rows === blockRows) endBlock();
      block[rows] = followers;
      rows += 1;
    },
    end: (): void => {
      if (rows > 0) endBlock();
    },
  };
};

/** Returns a function that finds the rows of a query's range of followers; null if there are none. */
export const createRangeFinder = (
  database: DatabaseSync,
  { profiles }: { profiles: number },
): ((query: LeadQuery) => RowRange | null) => {
  const read = database.prepare('SELECT data FROM followers WHERE block = ?');
  const readBlock = (block: number): Uint32Array => {
    const bytes = unseal(read.get(block)?.['data'], sealNames.followers(block));
    if (bytes.length !== Math.min(blockRows, profiles - block * blockRows) * 4)
      throw new SegmentDamagedError(`${sealNames.followers(block)} is damaged`);
    return new Uint32Array(bytes.slice().buffer);
  };
  const firsts = Uint32Array.from(
    { length: Math.ceil(profiles / blockRows) },
    (_, block) => readBlock(block)[0] ?? 0,
  );

  /** Returns the first row with fewer followers than `followers`. */
  const firstBelow = (followers: number): number => {
    const beyond = firstPlaceBelow(firsts, followers);
    if (beyond === 0) return 0;
    const block = beyond - 1;
    return block * blockRows + firstPlaceBelow(readBlock(block), followers);
  };
  return ({ minFollowers, maxFollowers }) => {
    const first = maxFollowers === undefined ? 0 : firstBelow(Math.floor(maxFollowers) + 1);
    const last = (minFollowers === undefined ? profiles : firstBelow(Math.ceil(minFollowers))) - 1;
    return first > last ? null : { first, last };
  };
};

const firstPlaceBelow = (descending: Uint32Array, value: number): number =>
  firstBeyond(descending.length, (place) => (descending[place] ?? 0) < value);
