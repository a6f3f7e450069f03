import { createHeap } from '../heap.ts';
import { createGrowingRows } from './growing-rows.ts';
import type { RunReader } from './term-runs.ts';

/**
 * Yields every term once, in UTF-16 order, with its ascending rows from all `runs`, valid until the next term. The runs
 * are in row order.
 */
export function* mergeRuns(runs: readonly RunReader[]): Generator<{ term: string; rows: Uint32Array }> {
  const heap = createHeap(
    runs.filter(({ term }) => term !== null),
    isBefore,
  );
  const rows = createGrowingRows(1024);
  for (let first = heap.top(); first !== undefined; first = heap.top()) {
    const { term } = first;
    if (term === null) throw new Error('A run that ended is still merged.');
    rows.clear();
    for (let top = heap.top(); top?.term === term; top = heap.top()) {
      top.takeRows(rows.push);
      heap.replaceTop(top.term === null);
    }
    yield { term, rows: rows.view() };
  }
}

/** By term, then by chunk. */
const isBefore = (a: RunReader, b: RunReader): boolean => {
  const one = a.term ?? '';
  const other = b.term ?? '';
  return one === other ? a.firstRow < b.firstRow : one < other;
};
