import type { SegmentShape } from './segment-format.ts';

/*
 * A long list has a part for each chunk. Parts of neighbouring chunks are stored together in groups, so that a list is
 * read in few pieces. The first groups are small, because most searches end there. The position of each part follows
 * from the number of rows in each chunk.
 */
/** Returns the size at which a group is full and the next part begins another one. */
export const groupLimit = (group: number, { groupBytes, mostGroupBytes }: SegmentShape): number =>
  Math.min(groupBytes * 2 ** group, mostGroupBytes);

/** Returns true if a part is a bitmap: up to twice as large as its positions, but faster to intersect. */
export const isBitmap = (size: number, chunkRows: number): boolean => size >= chunkRows / 32;

/** Returns the bytes of a part with this many rows. Parts begin at multiples of four. */
export const partBytes = (size: number, chunkRows: number): number =>
  isBitmap(size, chunkRows) ? chunkRows / 8 : Math.ceil(size / 2) * 4;
