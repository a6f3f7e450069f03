import { compareLeads } from '../../query/lead-order.ts';
import type { SegmentRow } from '../segment/write-segment.ts';

/** Merges sorted streams of rows into sorted batches. Holds the next row of every stream in memory. */
export function* mergeRows<Row extends SegmentRow>(
  streams: readonly Iterable<Row>[],
  batchRows = 1_000,
): Generator<Row[]> {
  const heap = createHeap(streams);
  let batch: Row[] = [];
  for (let row = heap.take(); row !== null; row = heap.take()) {
    batch.push(row);
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

interface Head<Row> {
  row: Row;
  stream: Iterator<Row>;
}

/** A binary heap of the streams. The stream with the first row is on top. */
const createHeap = <Row extends SegmentRow>(streams: readonly Iterable<Row>[]): { take(): Row | null } => {
  const heads: Head<Row>[] = [];
  for (const stream of streams) {
    const iterator = stream[Symbol.iterator]();
    const first = iterator.next();
    if (first.done !== true) heads.push({ row: first.value, stream: iterator });
  }
  // A sorted array is a heap.
  heads.sort(compareHeads);

  /** Moves `head` from the top down to its place. */
  const sink = (head: Head<Row>): void => {
    let index = 0;
    for (;;) {
      let childIndex = index * 2 + 1;
      let child = heads[childIndex];
      const right = heads[childIndex + 1];
      if (child === undefined) break;
      if (right !== undefined && compareHeads(right, child) < 0) {
        childIndex += 1;
        child = right;
      }
      if (compareHeads(head, child) <= 0) break;
      heads[index] = child;
      index = childIndex;
    }
    heads[index] = head;
  };

  return {
    take: () => {
      const top = heads[0];
      if (top === undefined) return null;
      const { row } = top;
      const next = top.stream.next();
      if (next.done !== true) {
        top.row = next.value;
        sink(top);
      } else {
        const last = heads.pop();
        if (last !== undefined && last !== top) sink(last);
      }
      return row;
    },
  };
};

const compareHeads = (a: { row: SegmentRow }, b: { row: SegmentRow }): number =>
  compareLeads(a.row.lead, b.row.lead);
