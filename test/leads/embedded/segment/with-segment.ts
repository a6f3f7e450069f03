import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSegment, type Segment } from '../../../../src/leads/embedded/segment/open-segment.ts';
import { usualShape, type SegmentShape } from '../../../../src/leads/embedded/segment/segment-format.ts';
import { writeSegment, type SegmentRow } from '../../../../src/leads/embedded/segment/write-segment.ts';
import { compareLeads } from '../../../../src/leads/query/lead-order.ts';
import type { Lead } from '../../../../src/leads/lead-source.ts';

/** In the order of results, in batches of a few. */
function* toBatches(leads: readonly Lead[], size = 1000): Generator<SegmentRow[]> {
  const rows = leads.toSorted(compareLeads).map((lead) => ({ lead, json: JSON.stringify(lead) }));
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}

/** So small that a handful of profiles takes every form that millions take. */
export const tinyShape: SegmentShape = {
  chunkRows: 32,
  blockTerms: 3,
  mostInlineRows: 1,
  mostShortRows: 3,
  groupBytes: 8,
  mostGroupBytes: 24,
  mostPrefixTerms: 4,
  mostPrefixRows: 3,
  mostPrefixLists: 2,
};

/** Writes a segment of `leads`, opens it for `use`, and removes it. */
export const withSegment = async <T>(
  leads: readonly Lead[],
  use: (segment: Segment, file: string) => T | Promise<T>,
  shape: SegmentShape = usualShape,
  reading: { fewRows?: number } = {},
): Promise<T> => {
  const folder = mkdtempSync(join(tmpdir(), 'segment-'));
  const file = join(folder, 'some.db');
  try {
    const runLimits = shape === usualShape ? undefined : { profiles: 64, terms: 100, pairs: 200 };
    await writeSegment({ file, rows: toBatches(leads, 7), shape, ...(runLimits && { runLimits }) });
    const segment = openSegment(file, reading);
    try {
      return await use(segment, file);
    } finally {
      segment.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
};
