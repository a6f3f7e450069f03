import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { createRowSet, rowsOf, type RowSet } from './segment/row-set.ts';
import { SegmentDamagedError } from './segment/segment-format.ts';

/** Rows that searches skip: replaced by a row of the delta, or of a forgotten person. */
export interface GoneRows {
  base: RowSet;
  delta: RowSet;
}

/*
 * The file has 32-bit words, little-endian: the number of rows of the base, the number of the delta, the rows of the
 * base, the rows of the delta, and the CRC-32 of all of it.
 */

/** Writes `gone` to `file`, which must not exist. It is on the disk when the call returns. */
export const writeGoneRows = (file: string, { base, delta }: GoneRows): void => {
  const words = new Uint32Array(base.size + delta.size + 3);
  words.set([base.size, delta.size]);
  words.set(rowsOf(base), 2);
  words.set(rowsOf(delta), 2 + base.size);
  words[words.length - 1] = crc32(bytesOf(words.subarray(0, -1)));
  writeFileSync(file, bytesOf(words), { flag: 'wx', flush: true });
};

/** Reads the output of `writeGoneRows`. Throws SegmentDamagedError for anything else. */
export const readGoneRows = (file: string, capacity: { base: number; delta: number }): GoneRows => {
  if (!existsSync(file)) throw new SegmentDamagedError(`${file} is missing`);
  const bytes = readFileSync(file);
  const isWhole = bytes.length % 4 === 0 && bytes.length >= 12;
  const words = new Uint32Array(isWhole ? bytes.length / 4 : 0);
  if (isWhole) bytesOf(words).set(bytes);
  const [baseRows = 0, deltaRows = 0] = words;
  const isIntact =
    words.length === baseRows + deltaRows + 3 && words.at(-1) === crc32(bytesOf(words.subarray(0, -1)));
  if (!isIntact) throw new SegmentDamagedError(`${file} is damaged`);
  return {
    base: createRowSet(words.subarray(2, 2 + baseRows), capacity.base),
    delta: createRowSet(words.subarray(2 + baseRows, -1), capacity.delta),
  };
};

const bytesOf = (words: Uint32Array): Uint8Array =>
  new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
