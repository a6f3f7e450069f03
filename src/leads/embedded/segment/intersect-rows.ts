import type { ConditionLists } from './condition-lists.ts';
import { readCondition } from './condition-rows.ts';
import { intersectChunks, type ChunkSpace, type RowRange } from './intersect-chunks.ts';
import { lowerBound } from './lower-bound.ts';
import { createRowFilter } from './row-filter.ts';
import type { SegmentShape } from './segment-format.ts';
import type { OpenList } from './stored-lists.ts';

/** The number of rows of a rare condition that are looked up at once. */
const sliceRows = 512;

/**
 * Yields the rows of `range` that meet all conditions, ascending. A caller can stop early. If one condition has few
 * rows, they are looked up in the other lists. Otherwise all lists are intersected chunk by chunk. In both cases the
 * work for a whole segment is limited to a few microseconds per condition and chunk, for any distribution of rows.
 */
export function* intersectRows(
  conditions: readonly ConditionLists[],
  {
    range,
    openList,
    shape,
    space,
  }: { range: RowRange; openList: OpenList; shape: SegmentShape; space: ChunkSpace },
): Generator<number> {
  const [rarest, ...others] = conditions.toSorted((a, b) => a.count - b.count);
  if (rarest === undefined || rarest.count === 0) return;
  if (rarest.count > shape.mostShortRows) {
    const opened = conditions.map((condition) => readCondition(condition, openList));
    yield* intersectChunks(opened, { range, space });
    return;
  }
  const { rows } = readCondition(rarest, openList);
  // Each condition is read when the first row reaches its filter.
  const filters = others.map((condition) => createRowFilter(() => readCondition(condition, openList), shape));
  const start = lowerBound(rows, { value: range.first, from: 0 });
  const end = lowerBound(rows, { value: range.last + 1, from: start });
  for (let from = start; from < end; from += sliceRows) {
    let slice = rows.subarray(from, Math.min(end, from + sliceRows));
    for (const filter of filters) if (slice.length > 0) slice = filter(slice);
    yield* slice;
  }
}
