import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { Lead } from '../../lead-source.ts';
import { createReadWindow } from '../read-window.ts';
import { createByteWriter } from '../segment/byte-writer.ts';
import type { SegmentRow } from '../segment/write-segment.ts';

export interface Run {
  start: number;
  end: number;
}

const writeBytes = 1024 * 1024;

export type RunFile = ReturnType<typeof createRunFile>;

/**
 * Creates `file`, or empties it, for profiles in result order, one run after another, during one change. A profile is
 * its length and its JSON. Synchronous.
 */
export const createRunFile = (file: string) => {
  const descriptor = openSync(file, 'w+');
  const writer = createByteWriter(writeBytes * 2);
  let position = 0;
  const flush = (): void => {
    writeFileSync(descriptor, writer.view());
    position += writer.length;
    writer.clear();
  };
  return {
    /** Writes one run: the JSON of profiles, in order, as ranges of `arena`. */
    write: (arena: Buffer, ranges: Iterable<{ start: number; end: number }>): Run => {
      const runStart = position;
      for (const { start, end } of ranges) {
        writer.varint(end - start);
        writer.bytes(arena.subarray(start, end));
        if (writer.length >= writeBytes) flush();
      }
      flush();
      return { start: runStart, end: position };
    },
    /** Reads a run in pieces of `bufferBytes` or one profile. */
    *read(run: Run, bufferBytes: number): Generator<SegmentRow> {
      const window = createReadWindow(descriptor, { ...run, bufferBytes });
      while (!window.isAtEnd()) {
        const json = window.text(window.varint(), 'utf8');
        const lead: Lead = JSON.parse(json);
        yield { lead, json };
      }
    },
    close: (): void => closeSync(descriptor),
  };
};
