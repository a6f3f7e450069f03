import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { createByteWriter } from './byte-writer.ts';
import type { RunTerms } from '../../query/run-terms.ts';

/** Sorted terms in a scratch file, one run after another. Each run has the terms of consecutive profiles. */
export interface TermRuns {
  /** Stores the terms of the next profiles. */
  write(terms: RunTerms): void;
  /** Returns a reader of each run, in order. */
  read(): RunReader[];
  close(): void;
}

/** Reads the terms of one run, one at a time. */
export interface RunReader {
  /** The row of its first profile. */
  readonly firstRow: number;
  /** The current term; null after the last. */
  readonly term: string | null;
  /** Calls `take` with each row of the term, ascending, and moves to the next term. */
  takeRows(take: (row: number) => void): void;
}

const flushBytes = 1024 * 1024;
/** Per run, while all are read: a few megabytes in total for millions of profiles. */
const readBytes = 64 * 1024;

/** `file` must not exist. */
export const createTermRuns = (file: string): TermRuns => {
  const descriptor = openSync(file, 'wx+');
  const runs: { firstRow: number; start: number; end: number }[] = [];
  let rows = 0;
  let written = 0;

  return {
    write: (terms) => {
      const start = written;
      const writer = createByteWriter(flushBytes * 2);
      const flush = (): void => {
        written += writeAll(descriptor, writer.view(), written);
        writer.clear();
      };
      for (const { term, places } of terms.sorted()) {
        writer.text(term, 0);
        writer.varint(places.length);
        let last = -1;
        for (const place of places) {
          writer.varint(place - last - 1);
          last = place;
        }
        if (writer.length >= flushBytes) flush();
      }
      flush();
      runs.push({ firstRow: rows, start, end: written });
      rows += terms.profiles;
    },
    read: () => runs.map((run) => readRun({ descriptor, ...run })),
    close: () => closeSync(descriptor),
  };
};

const writeAll = (descriptor: number, bytes: Buffer, position: number): number => {
  let done = 0;
  while (done < bytes.length)
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
  return done;
};

const readRun = ({
  descriptor,
  start,
  end,
  firstRow,
}: {
  descriptor: number;
  start: number;
  end: number;
  firstRow: number;
}): RunReader => {
  const source = createWindow(descriptor, { start, end });
  let term: string | null = null;
  const advance = (): void => {
    term = source.isAtEnd() ? null : source.text();
  };
  advance();
  return {
    firstRow,
    get term() {
      return term;
    },
    takeRows: (take) => {
      let row = firstRow - 1;
      for (let left = source.varint(); left > 0; left -= 1) {
        row += source.varint() + 1;
        take(row);
      }
      advance();
    },
  };
};

/** Reads a range of a file piece by piece. */
const createWindow = (descriptor: number, { start, end }: { start: number; end: number }) => {
  let buffer = Buffer.allocUnsafe(readBytes);
  let filled = 0;
  let at = 0;
  let next = start;

  /** Makes `bytes` available from `at` on. */
  const need = (bytes: number): void => {
    if (filled - at >= bytes) return;
    const left = filled - at;
    const target = bytes > buffer.length ? Buffer.allocUnsafe(bytes * 2) : buffer;
    buffer.copy(target, 0, at, filled);
    buffer = target;
    at = 0;
    filled = left;
    while (filled < bytes) {
      const length = readSync(descriptor, buffer, filled, Math.min(buffer.length - filled, end - next), next);
      if (length === 0) throw new RangeError('a run of terms ends too early');
      filled += length;
      next += length;
    }
  };
  const byte = (): number => {
    if (at === filled) need(1);
    const value = buffer[at] ?? 0;
    at += 1;
    return value;
  };
  const varint = (): number => {
    let read = byte();
    let value = read & 0x7f;
    let factor = 0x80;
    while (read >= 0x80) {
      read = byte();
      value += (read & 0x7f) * factor;
      factor *= 0x80;
    }
    return value;
  };

  return {
    isAtEnd: () => at === filled && next === end,
    varint,
    text: (): string => {
      const head = varint();
      const isWide = head % 2 === 1;
      const bytes = isWide ? head - 1 : head / 2;
      need(bytes);
      at += bytes;
      return buffer.toString(isWide ? 'utf16le' : 'latin1', at - bytes, at);
    },
  };
};
