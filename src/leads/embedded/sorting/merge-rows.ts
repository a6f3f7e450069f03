import { compareLeads } from '../../query/lead-order.ts';
import { createHeap } from '../heap.ts';
import type { SegmentRow } from '../segment/write-segment.ts';

/** Merges sorted streams of rows into sorted batches. Holds the next row of every stream in memory. */
export function* mergeRows<Row extends SegmentRow>(
  streams: readonly Iterable<Row>[],
  batchRows = 1_000,
): Generator<Row[]> {
  const heads = streams.flatMap((stream) => {
    const rows = stream[Symbol.iterator]();
    const first = rows.next();
    return first.done === true ? [] : [{ row: first.value, rows }];
  });
  const heap = createHeap(heads, (one, other) => compareLeads(one.row.lead, other.row.lead) < 0);
  let batch: Row[] = [];
  for (let head = heap.top(); head !== undefined; head = heap.top()) {
    batch.push(head.row);
    const next = head.rows.next();
    if (next.done !== true) head.row = next.value;
    heap.replaceTop(next.done === true);
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
