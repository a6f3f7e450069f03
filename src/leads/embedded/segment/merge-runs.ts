import { createGrowingRows } from './growing-rows.ts';
import type { RunReader } from './term-runs.ts';

export interface TermRows {
  term: string;
  /** Ascending; valid until the next term. */
  rows: Uint32Array;
}

/** Yields every term once, in UTF-16 order, with its rows from all `runs`. The runs are in row order. */
export function* mergeRuns(runs: readonly RunReader[]): Generator<TermRows> {
  const heap = runs.filter(({ term }) => term !== null);
  for (let place = Math.floor(heap.length / 2) - 1; place >= 0; place -= 1) sink(heap, place);
  const rows = createGrowingRows(1024);
  const take = (row: number): void => rows.push(row);
  for (let first = heap[0]; first !== undefined; first = heap[0]) {
    const { term } = first;
    if (term === null) throw new Error('A run that ended is still merged.');
    rows.clear();
    for (let top = heap[0]; top !== undefined && top.term === term; top = heap[0]) {
      top.takeRows(take);
      if (top.term === null) removeFirst(heap);
      else sink(heap, 0);
    }
    yield { term, rows: rows.view() };
  }
}

const removeFirst = (heap: RunReader[]): void => {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  heap[0] = last;
  sink(heap, 0);
};

/** Moves the reader at `start` down to its place in the heap. */
const sink = (heap: RunReader[], start: number): void => {
  const moved = heap[start];
  if (moved === undefined) return;
  let place = start;
  for (;;) {
    const left = 2 * place + 1;
    const leftChild = heap[left];
    if (leftChild === undefined) break;
    const rightChild = heap[left + 1];
    const isRight = rightChild !== undefined && isBefore(rightChild, leftChild);
    const child = isRight ? rightChild : leftChild;
    if (!isBefore(child, moved)) break;
    heap[place] = child;
    place = isRight ? left + 1 : left;
  }
  heap[place] = moved;
};

/** By term, then by chunk. */
const isBefore = (a: RunReader, b: RunReader): boolean => {
  const one = a.term ?? '';
  const other = b.term ?? '';
  return one === other ? a.firstRow < b.firstRow : one < other;
};
