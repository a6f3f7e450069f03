import type { ConditionRows } from './condition-rows.ts';
import { lowerBound } from './lower-bound.ts';
import type { SegmentShape } from './segment-format.ts';
import type { ChunkPart, LongList } from './stored-lists.ts';

/** Keeps the rows that meet a condition. Rows ascend, also from call to call. */
export type RowFilter = (rows: Uint32Array) => Uint32Array;

/** `read` is called when there is something to filter. */
export const createRowFilter = (
  read: () => ConditionRows,
  { chunkRows }: Pick<SegmentShape, 'chunkRows'>,
): RowFilter => {
  let marks: ((rows: Uint32Array, isMet: Uint8Array) => void)[] | null = null;
  return (rows) => {
    marks ??= marksOf(read(), chunkRows);
    const isMet = new Uint8Array(rows.length);
    for (const mark of marks) mark(rows, isMet);
    const kept = new Uint32Array(rows.length);
    let count = 0;
    for (let index = 0; index < rows.length; index += 1) {
      if (isMet[index] !== 1) continue;
      kept[count] = rows[index] ?? 0;
      count += 1;
    }
    return kept.subarray(0, count);
  };
};

const marksOf = (
  { rows, long }: ConditionRows,
  chunkRows: number,
): ((rows: Uint32Array, isMet: Uint8Array) => void)[] => [
  ...(rows.length > 0 ? [markShort(rows)] : []),
  ...long.map((list) => markLong(list, chunkRows)),
];

const markShort = (list: Uint32Array): ((rows: Uint32Array, isMet: Uint8Array) => void) => {
  let place = 0;
  return (rows, isMet) => {
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index] ?? 0;
      place = gallop(list, { value: row, from: place });
      if (list[place] === row) isMet[index] = 1;
    }
  };
};

/** Returns the first index from `from` on whose value is not below `value`. Fast if it is near. */
const gallop = (sorted: Uint32Array, { value, from }: { value: number; from: number }): number => {
  let step = 1;
  let below = from;
  while (below + step < sorted.length && (sorted[below + step] ?? 0) < value) {
    below += step;
    step *= 2;
  }
  return lowerBound(sorted.subarray(0, Math.min(sorted.length, below + step + 1)), {
    value,
    from: below,
  });
};

const markLong = (list: LongList, chunkRows: number): ((rows: Uint32Array, isMet: Uint8Array) => void) => {
  let chunk = -1;
  let part: ChunkPart | null = null;
  return (rows, isMet) => {
    for (let index = 0; index < rows.length; index += 1) {
      if (isMet[index] === 1) continue;
      const row = rows[index] ?? 0;
      const rowChunk = Math.floor(row / chunkRows);
      if (rowChunk !== chunk) {
        chunk = rowChunk;
        part = (list.sizes[chunk] ?? 0) > 0 ? list.part(chunk) : null;
      }
      if (part !== null && hasPlace(part, row - chunk * chunkRows)) isMet[index] = 1;
    }
  };
};

export const hasPlace = ({ places, words }: ChunkPart, place: number): boolean =>
  words === null
    ? places[lowerBound(places, { value: place, from: 0 })] === place
    : (((words[place >>> 5] ?? 0) >>> (place & 31)) & 1) === 1;
