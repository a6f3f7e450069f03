import type { SegmentShape } from './segment-format.ts';

/*
 * A long list has a part for each chunk. Parts of neighbouring chunks are stored together in groups, so that a list is
 * read in few pieces. The first groups are small, as most searches end there; whoever goes on will want more. Where each
 * part is follows from how many rows each chunk has.
 */
/** How many bytes of parts a group has before the next part begins another one. */
export const groupLimit = (group: number, { groupBytes, mostGroupBytes }: SegmentShape): number =>
  Math.min(groupBytes * 2 ** group, mostGroupBytes);

/** Whether a part with so many rows is a bitmap: up to twice as large then as its places, and quicker to intersect. */
export const isBitmap = (size: number, chunkRows: number): boolean => size >= chunkRows / 32;

/** The bytes of a part with so many rows; parts begin at multiples of four. */
export const partBytes = (size: number, chunkRows: number): number =>
  isBitmap(size, chunkRows) ? chunkRows / 8 : Math.ceil(size / 2) * 4;
