import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { Lead } from '../../lead-source.ts';
import type { SegmentRow } from '../segment/write-segment.ts';

/*
 * Runs: profiles in result order, one run after another in a file, used during one change. A profile is its length (u32
 * little-endian) and its JSON.
 */

/** The position of a run in the file. */
export interface Run {
  start: number;
  end: number;
}

export interface RunFile {
  /** Writes one run: the JSON of profiles, in order, as ranges of `arena`. */
  write(arena: Buffer, ranges: Iterable<{ start: number; end: number }>): Run;
  /** Reads a run in pieces of `bufferBytes` or one profile. */
  read(run: Run, bufferBytes: number): Generator<SegmentRow>;
  close(): void;
}

const writeBytes = 1024 * 1024;
const lengthBytes = 4;

/** Creates `file`, or empties it. Synchronous. */
export const createRunFile = (file: string): RunFile => {
  const descriptor = openSync(file, 'w+');
  const buffer = Buffer.allocUnsafe(writeBytes);
  let position = 0;

  const writeOut = (bytes: Buffer): void => {
    let written = 0;
    while (written < bytes.length)
      written += writeSync(descriptor, bytes, written, undefined, position + written);
    position += bytes.length;
  };

  return {
    write: (arena, ranges) => {
      const runStart = position;
      let filled = 0;
      for (const { start, end } of ranges) {
        const length = end - start;
        if (filled + lengthBytes + length > buffer.length) {
          writeOut(buffer.subarray(0, filled));
          filled = 0;
        }
        if (lengthBytes + length > buffer.length) throw new RangeError('A profile is larger than 1 MB.');
        buffer.writeUInt32LE(length, filled);
        arena.copy(buffer, filled + lengthBytes, start, end);
        filled += lengthBytes + length;
      }
      writeOut(buffer.subarray(0, filled));
      return { start: runStart, end: position };
    },
    read: (run, bufferBytes) => readRun(descriptor, run, bufferBytes),
    close: () => closeSync(descriptor),
  };
};

function* readRun(descriptor: number, run: Run, bufferBytes: number): Generator<SegmentRow> {
  let buffer = Buffer.allocUnsafe(bufferBytes);
  let filled = 0;
  let offset = 0;
  let position = run.start;

  /** Makes `bytes` bytes from `offset` on available. */
  const ensure = (bytes: number): void => {
    if (filled - offset >= bytes) return;
    const larger = bytes > buffer.length ? Buffer.allocUnsafe(bytes) : buffer;
    buffer.copy(larger, 0, offset, filled);
    filled -= offset;
    offset = 0;
    buffer = larger;
    while (filled < bytes) {
      const wanted = Math.min(buffer.length - filled, run.end - position);
      const read = wanted > 0 ? readSync(descriptor, buffer, filled, wanted, position) : 0;
      if (read === 0) throw new Error('A sorted run ends too early.');
      filled += read;
      position += read;
    }
  };

  while (position < run.end || offset < filled) {
    ensure(lengthBytes);
    const length = buffer.readUInt32LE(offset);
    ensure(lengthBytes + length);
    const json = buffer.toString('utf8', offset + lengthBytes, offset + lengthBytes + length);
    offset += lengthBytes + length;
    const lead: Lead = JSON.parse(json);
    yield { lead, json };
  }
}
