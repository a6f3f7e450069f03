import type { ConditionRows } from './condition-rows.ts';
import { lowerBound } from './lower-bound.ts';
import type { SegmentShape } from './segment-format.ts';
import { hasPlace } from './row-filter.ts';
import type { ChunkPart } from './stored-lists.ts';

/** Rows from `first` to `last`, both included. */
export interface RowRange {
  first: number;
  last: number;
}

/** Up to this many positions of a chunk are looked up one by one. For more, bitmaps are faster. */
const usualFewRows = 64;

/**
 * Yields the rows of `range` that meet all conditions, ascending. Each condition has many rows. In each chunk the
 * condition with the fewest rows goes first, and the next is read only while rows remain.
 */
export function* intersectChunks(
  conditions: readonly ConditionRows[],
  { range, space }: { range: RowRange; space: ChunkSpace },
): Generator<number> {
  const { chunkRows } = space;
  const views = conditions.map((condition) => createChunkView(condition, chunkRows));
  for (let chunk = Math.floor(range.first / chunkRows); chunk * chunkRows <= range.last; chunk += 1) {
    for (const view of views) view.moveTo(chunk);
    const firstRow = chunk * chunkRows;
    for (const places of commonPlaces(
      views.toSorted((a, b) => a.size - b.size),
      space,
    ))
      for (const place of places) {
        const row = firstRow + place;
        if (row > range.last) return;
        if (row >= range.first) yield row;
      }
  }
}

export type ChunkSpace = ReturnType<typeof createChunkSpace>;

/** Buffers for the work on one chunk, used by one search at a time and then reused. */
export const createChunkSpace = ({ chunkRows }: SegmentShape, fewRows = usualFewRows) => ({
  chunkRows,
  fewRows,
  words: new Uint32Array(chunkRows / 32),
  otherWords: new Uint32Array(chunkRows / 32),
  places: new Uint16Array(chunkRows),
});

/** Bitmap positions are yielded in pieces of this many words, so a caller can stop early. */
const wordsAtOnce = 64;

/** Yields the positions of a chunk that all views have, ascending. Each piece is valid until the next one. */
function* commonPlaces([least, ...others]: readonly ChunkView[], space: ChunkSpace): Generator<Uint16Array> {
  if (least === undefined || least.size === 0) return;
  const { words } = space;
  if (least.size < words.length) {
    yield narrow(placesOfParts(least.parts(), space), others, space);
    return;
  }
  uniteInto(words, least.parts());
  for (const [index, other] of others.entries()) {
    if (!intersectInto(words, bitmapOf(other.parts(), space))) return;
    if (!isSparse(words, space.fewRows)) continue;
    yield narrow(placesOfBits(words, 0, space), others.slice(index + 1), space);
    return;
  }
  for (let index = 0; index < words.length; index += wordsAtOnce)
    yield placesOfBits(words.subarray(index, index + wordsAtOnce), index * 32, space);
}

/** Keeps the positions in `places` that all others have too, in the same array. */
const narrow = (places: Uint16Array, others: readonly ChunkView[], space: ChunkSpace): Uint16Array => {
  let count = places.length;
  for (const other of others) {
    if (count === 0) break;
    const parts = other.parts();
    count =
      count <= space.fewRows
        ? keepInParts(places, count, parts)
        : keepInBitmap(places, count, bitmapOf(parts, space));
  }
  return places.subarray(0, count);
};

const keepInParts = (places: Uint16Array, count: number, parts: readonly ChunkPart[]): number => {
  let kept = 0;
  for (let index = 0; index < count; index += 1) {
    const place = places[index] ?? 0;
    for (const part of parts) {
      if (!hasPlace(part, place)) continue;
      places[kept] = place;
      kept += 1;
      break;
    }
  }
  return kept;
};

const keepInBitmap = (places: Uint16Array, count: number, words: Uint32Array): number => {
  let kept = 0;
  for (let index = 0; index < count; index += 1) {
    const place = places[index] ?? 0;
    places[kept] = place;
    kept += ((words[place >>> 5] ?? 0) >>> (place & 31)) & 1;
  }
  return kept;
};

const placesOfParts = (parts: readonly ChunkPart[], space: ChunkSpace): Uint16Array => {
  const only = parts.length === 1 ? (parts[0]?.places ?? null) : null;
  if (only === null) {
    uniteInto(space.words, parts);
    return placesOfBits(space.words, 0, space);
  }
  space.places.set(only);
  return space.places.subarray(0, only.length);
};

/** Yields the positions of set bits. The first bit has position `first`. */
const placesOfBits = (words: Uint32Array, first: number, { places }: ChunkSpace): Uint16Array => {
  let count = 0;
  for (let index = 0; index < words.length; index += 1) {
    let word = words[index] ?? 0;
    while (word !== 0) {
      places[count] = first + index * 32 + 31 - Math.clz32(word & -word);
      count += 1;
      word &= word - 1;
    }
  }
  return places.subarray(0, count);
};

type ChunkView = ReturnType<typeof createChunkView>;

/** The rows of a condition in one chunk. */
const createChunkView = ({ rows, long }: ConditionRows, chunkRows: number) => {
  let chunk = 0;
  let start = 0;
  let end = 0;
  let size = 0;
  return {
    /** Moves to a chunk that is not before the last one. */
    moveTo: (next: number): void => {
      chunk = next;
      start = lowerBound(rows, { value: chunk * chunkRows, from: end });
      end = lowerBound(rows, { value: (chunk + 1) * chunkRows, from: start });
      size = end - start;
      for (const { sizes } of long) size += sizes[chunk] ?? 0;
    },
    /** Upper bound of its rows in the chunk. */
    get size(): number {
      return size;
    },
    parts: (): ChunkPart[] => {
      const parts: ChunkPart[] = [];
      for (const list of long) if ((list.sizes[chunk] ?? 0) > 0) parts.push(list.part(chunk));
      if (end > start) {
        const places = new Uint16Array(end - start);
        for (let index = start; index < end; index += 1)
          places[index - start] = (rows[index] ?? 0) - chunk * chunkRows;
        parts.push({ places, words: null });
      }
      return parts;
    },
  };
};

const uniteInto = (target: Uint32Array, parts: readonly ChunkPart[]): void => {
  const start = parts.find(({ words }) => words !== null);
  if (start?.words instanceof Uint32Array) target.set(start.words);
  else target.fill(0);
  for (const part of parts) if (part !== start) addTo(target, part);
};

const addTo = (target: Uint32Array, { places, words }: ChunkPart): void => {
  if (words === null) {
    for (let index = 0; index < places.length; index += 1) {
      const place = places[index] ?? 0;
      target[place >>> 5] = (target[place >>> 5] ?? 0) | (1 << (place & 31));
    }
    return;
  }
  for (let index = 0; index < target.length; index += 1)
    target[index] = (target[index] ?? 0) | (words[index] ?? 0);
};

/** Intersects `left` with the other bitmap. Returns true if any bit remains. */
const intersectInto = (left: Uint32Array, words: Uint32Array): boolean => {
  let any = 0;
  for (let index = 0; index < left.length; index += 1) {
    const word = (left[index] ?? 0) & (words[index] ?? 0);
    left[index] = word;
    any |= word;
  }
  return any !== 0;
};

const isSparse = (words: Uint32Array, most: number): boolean => {
  let filled = 0;
  for (let index = 0; index < words.length && filled <= most; index += 1) if (words[index] !== 0) filled += 1;
  return filled <= most;
};

/** Returns the bitmap of the only part, or the union of all parts in `otherWords`. */
const bitmapOf = (parts: readonly ChunkPart[], { otherWords }: ChunkSpace): Uint32Array => {
  const only = parts.length === 1 ? (parts[0]?.words ?? null) : null;
  if (only !== null) return only;
  uniteInto(otherWords, parts);
  return otherWords;
};
