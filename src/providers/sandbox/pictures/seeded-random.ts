import { createHash } from 'node:crypto';

/** Returns a source of numbers from 0 to below 1 that depend on the seed alone: successive hashes, four bytes each. */
export const seededRandom = (seed: string): (() => number) => {
  let block = createHash('sha256').update(seed).digest();
  let position = 0;
  return () => {
    if (position === block.length) {
      block = createHash('sha256').update(block).digest();
      position = 0;
    }
    position += 4;
    return block.readUInt32BE(position - 4) / 2 ** 32;
  };
};
