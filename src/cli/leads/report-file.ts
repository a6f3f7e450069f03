import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  ftruncateSync,
  linkSync,
  openSync,
  readSync,
  rmSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { CommandError } from '../command-error.ts';
import { csvLine } from '../csv-line.ts';
import { fileExists } from '../write-new-file.ts';
import { codeOf, lacksLinks } from '../write-trouble.ts';

/*
 * The files of reports of rejected rows: at `path`.part until an import is over, so that what a killed one left is told
 * from a report, and then at `path`.
 */

/** A report up to somewhere, so that an import that is gone on with goes on with its report too. `path` is without `.part`. */
export const reportMark = z.object({ path: z.string(), bytes: z.int(), crc: z.int(), rows: z.int() });
export type ReportMark = z.infer<typeof reportMark>;

export const reportHeader = csvLine(['file', 'line', 'problem', 'row']);

const mostNumbered = 1_000;
const chunkBytes = 65_536;

export const partOf = (path: string): string => `${path}.part`;

/** `profiles.csv.rejected.csv`, or with a number before the ending where there are such files. */
export const freePath = (base: string): string => {
  for (let number = 1; number <= mostNumbered; number += 1) {
    const path = number === 1 ? `${base}.csv` : `${base}-${number}.csv`;
    if (!existsSync(path) && !existsSync(partOf(path))) return path;
  }
  throw new CommandError(
    'file_exists',
    `There are too many files ${base}-*.csv; remove those of former imports.`,
  );
};

/** Whether the file begins with exactly what the mark was made of. */
const isAsMarked = (file: number, { bytes, crc }: ReportMark): boolean => {
  const chunk = Buffer.alloc(chunkBytes);
  let position = 0;
  let sum = 0;
  while (position < bytes) {
    const length = readSync(file, chunk, 0, Math.min(chunkBytes, bytes - position), position);
    if (length === 0) return false;
    sum = crc32(chunk.subarray(0, length), sum);
    position += length;
  }
  return sum === crc;
};

/** Opens a report that ends at the mark then; null: it is gone, or somebody has changed it since. */
export const openMarked = (mark: ReportMark): number | null => {
  let file: number;
  try {
    file = openSync(partOf(mark.path), 'r+');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
  if (isAsMarked(file, mark)) {
    ftruncateSync(file, mark.bytes);
    return file;
  }
  closeSync(file);
  return null;
};

/** Makes way for a part: removes one that a killed import left. Throws CommandError `file_exists` for another file. */
export const clearPart = (part: string): void => {
  let file: number;
  try {
    file = openSync(part, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    const expected = Buffer.from(reportHeader);
    const beginning = Buffer.alloc(expected.length);
    const length = readSync(file, beginning, 0, beginning.length, 0);
    // Nothing of it may have been written.
    if (length > 0 && !beginning.equals(expected)) throw fileExists(part);
  } finally {
    closeSync(file);
  }
  rmSync(part);
};

/** Gives a part its own name, never another file's. Throws the system's error. */
export const giveName = (path: string): void => {
  try {
    linkSync(partOf(path), path);
  } catch (error) {
    if (!lacksLinks(error)) throw error;
    // A file system without links.
    copyFileSync(partOf(path), path, constants.COPYFILE_EXCL);
  }
  rmSync(partOf(path));
};
