import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { RunTerms } from '../../query/run-terms.ts';
import { createReadWindow } from '../read-window.ts';
import { createByteWriter } from './byte-writer.ts';

const flushBytes = 1024 * 1024;
/** Per run, while all are read: a few megabytes in total for millions of profiles. */
const bufferBytes = 64 * 1024;

export type TermRuns = ReturnType<typeof createTermRuns>;

/**
 * Keeps sorted terms in the scratch `file`, which must not exist, one run after another. Each run has the terms of
 * consecutive profiles.
 */
export const createTermRuns = (file: string) => {
  const descriptor = openSync(file, 'wx+');
  const runs: { firstRow: number; start: number; end: number }[] = [];
  const writer = createByteWriter(flushBytes * 2);
  let rows = 0;
  let written = 0;
  const flush = (): void => {
    writeFileSync(descriptor, writer.view());
    written += writer.length;
    writer.clear();
  };

  return {
    /** Stores the terms of the next profiles. */
    write: (terms: RunTerms): void => {
      const start = written;
      for (const { term, places } of terms.sorted()) {
        writer.text(term, 0);
        writer.varint(places.length);
        writer.ascending(places);
        if (writer.length >= flushBytes) flush();
      }
      flush();
      runs.push({ firstRow: rows, start, end: written });
      rows += terms.profiles;
    },
    read: (): RunReader[] => runs.map((run) => readRun(descriptor, run)),
    close: (): void => closeSync(descriptor),
  };
};

export type RunReader = ReturnType<typeof readRun>;

/** Reads the terms of one run, one at a time. `firstRow` is the row of its first profile. */
const readRun = (
  descriptor: number,
  { firstRow, start, end }: { firstRow: number; start: number; end: number },
) => {
  const source = createReadWindow(descriptor, { start, end, bufferBytes });
  let term: string | null = null;
  const advance = (): void => {
    if (source.isAtEnd()) {
      term = null;
      return;
    }
    const head = source.varint();
    term = head % 2 === 1 ? source.text(head - 1, 'utf16le') : source.text(head / 2, 'latin1');
  };
  advance();
  return {
    firstRow,
    /** The current term; null after the last. */
    get term(): string | null {
      return term;
    },
    /** Calls `take` with each row of the term, ascending, and moves to the next term. */
    takeRows: (take: (row: number) => void): void => {
      let row = firstRow - 1;
      for (let left = source.varint(); left > 0; left -= 1) {
        row += source.varint() + 1;
        take(row);
      }
      advance();
    },
  };
};
