import { closeSync, existsSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { Json } from '../../kit/json.ts';
import type { RejectedRow } from '../../leads/import/input-options.ts';
import { CommandError } from '../command-error.ts';
import { csvLine } from '../format-table.ts';
import { codeOf, describeWriteError, fileExists, giveName } from '../write-new-file.ts';
import { formatCount } from './figures.ts';

/** The state of a report at a position of its import, so that both are resumed together. `path` is without `.part`. */
const reportMark = z.object({ path: z.string(), bytes: z.int(), crc: z.int(), rows: z.int() });
export type ReportMark = z.infer<typeof reportMark>;

export type RejectedReport = ReturnType<typeof createRejectedReport>;

/** More rejected rows are best corrected at their source. */
const defaultMaxRows = 1_000_000;
const bufferedCharacters = 65_536;
const maxNumbered = 1_000;
const chunkBytes = 65_536;

const header = csvLine(['file', 'line', 'problem', 'row']);

const partOf = (path: string): string => `${path}.part`;

/** `profiles.csv.rejected.csv`, or with a number before the ending if there are such files. */
const freePath = (base: string): string => {
  for (let number = 1; number <= maxNumbered; number += 1) {
    const path = number === 1 ? `${base}.csv` : `${base}-${number}.csv`;
    if (!existsSync(path) && !existsSync(partOf(path))) return path;
  }
  throw new CommandError('file_exists', `There are too many files ${base}-*.csv; remove the old ones.`);
};

const openIfThere = (path: string, flags: 'r' | 'r+'): number | null => {
  try {
    return openSync(path, flags);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
};

const hasMarkedBytes = (file: number, { bytes, crc }: ReportMark): boolean => {
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

/** Opens a report and cuts it off at the mark. Null: it is gone, or was changed meanwhile. */
const openMarked = (mark: ReportMark): number | null => {
  const file = openIfThere(partOf(mark.path), 'r+');
  if (file === null) return null;
  if (hasMarkedBytes(file, mark)) {
    ftruncateSync(file, mark.bytes);
    return file;
  }
  closeSync(file);
  return null;
};

/** Removes the part that a killed import left. Throws CommandError `file_exists` for any other file. */
const removePart = (part: string): void => {
  const file = openIfThere(part, 'r');
  if (file === null) return;
  const beginning = Buffer.alloc(header.length);
  const length = readSync(file, beginning, 0, beginning.length, 0);
  closeSync(file);
  // An import that was killed early leaves an empty file.
  if (length > 0 && beginning.toString() !== header) throw fileExists(part);
  rmSync(part);
};

interface OpenReport {
  file: number;
  mark: ReportMark;
}

const append = ({ file, mark }: OpenReport, text: string): ReportMark => {
  const data = Buffer.from(text);
  for (let done = 0; done < data.length;)
    done += writeSync(file, data, done, data.length - done, mark.bytes + done);
  return { ...mark, bytes: mark.bytes + data.length, crc: crc32(data, mark.crc) };
};

/** Opens the report of a resumed import; null: the others go to a new file, or there is none. */
const resume = (
  mark: ReportMark,
  { named, tell }: { named: string | null; tell: (line: string) => void },
): OpenReport | null => {
  if (named !== null && named !== mark.path) {
    tell(`${partOf(mark.path)} has the rows that were rejected before; ${named} gets the others.`);
    return null;
  }
  const file = openMarked(mark);
  if (file !== null) return { file, mark };
  if (mark.rows > 0)
    tell(`${partOf(mark.path)} was changed meanwhile, so the report continues in a new file.`);
  return null;
};

/** Creates the unfinished file of the report `path`. Throws CommandError `file_exists`. */
const createPart = (path: string, { isNamed }: { isNamed: boolean }): number => {
  if (existsSync(path)) throw fileExists(path);
  if (isNamed) removePart(partOf(path));
  try {
    return openSync(partOf(path), 'wx', 0o600);
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? fileExists(partOf(path)) : error;
  }
};

interface ReportOptions {
  named: string | null;
  /** The first file of the import. */
  input: string | null;
  maxRows?: number;
  tell: (line: string) => void;
}

/**
 * Writes rejected rows to a new CSV file that only this user can read. The file is `path`.part until the import is over,
 * so that the file of a killed import cannot be mistaken for a report.
 *
 * Creates the report in the file `named`, or else in a file beside `input` that is created with the first rejected row; or
 * no report if both are null. If a file beside `input` cannot be written, it tells so and the import continues.
 */
export const createRejectedReport = ({ maxRows = defaultMaxRows, tell, ...given }: ReportOptions) => {
  // Absolute, as an import may be resumed from another folder.
  const named = given.named && resolve(given.named);
  const input = given.input && resolve(given.input);
  let open: OpenReport | null = null;
  let buffered = '';
  let isGivenUp = named === null && input === null;

  const orGiveUp = (work: () => void): void => {
    if (isGivenUp) return;
    try {
      work();
    } catch (error) {
      if (error instanceof CommandError && named !== null) throw error;
      const path = open?.mark.path ?? named ?? `A report beside ${input}`;
      const problem = `${path} cannot be written: ${describeWriteError(error)}.`;
      if (named !== null) throw new CommandError('file_failed', problem, { cause: error });
      isGivenUp = true;
      tell(`${problem} Rejected rows are only counted from here on; --rejected names another file for them.`);
    }
  };
  const flush = (): void => {
    if (open === null || buffered === '') return;
    const text = buffered;
    buffered = '';
    open.mark = append(open, text);
  };
  const create = (path: string): OpenReport => {
    buffered = header;
    return { file: createPart(path, { isNamed: path === named }), mark: { path, bytes: 0, crc: 0, rows: 0 } };
  };

  return {
    /**
     * Called before the first row. With the mark of an unfinished import it continues that report, and drops rows after the
     * mark. Without one it replaces the `.part` that a killed import left. Like `add` and `mark`, it throws CommandError
     * `file_exists` and `file_failed` if the operator has named the file.
     */
    begin: (position: Json): void =>
      orGiveUp(() => {
        const mark = reportMark.nullable().parse(position);
        if (mark !== null) open = resume(mark, { named, tell });
        // Fails before millions of rows are read if the file cannot be created.
        if (open === null && named !== null) open = create(named);
      }),
    add: ({ file, line, problem, row }: RejectedRow): void =>
      orGiveUp(() => {
        open ??= create(named ?? freePath(`${input}.rejected`));
        const rows = open.mark.rows + 1;
        open.mark = { ...open.mark, rows };
        if (rows === maxRows + 1)
          tell(`The report ends after ${formatCount(maxRows)} rows; more are only counted.`);
        if (rows > maxRows) return;
        buffered += csvLine([file, String(line), problem, row]);
        if (buffered.length > bufferedCharacters) flush();
      }),
    /** Writes all added rows to the file. Null: there is no file yet. */
    mark: (): ReportMark | null => {
      orGiveUp(flush);
      return open && open.mark;
    },
    /**
     * Returns the absolute path of the report; null if nothing was rejected or the report could not be written. A report
     * without rows is removed. While the import is not over, the report stays a `.part`.
     */
    close: ({ isOver }: { isOver: boolean }): string | null => {
      orGiveUp(flush);
      if (open === null) return null;
      const { file, mark } = open;
      open = null;
      closeSync(file);
      return isOver || mark.rows === 0 ? endFile(mark, tell) : partOf(mark.path);
    },
  };
};

/** Gives the finished report its name; removes it if it has no rows. Returns where it is. */
const endFile = ({ path, rows }: ReportMark, tell: (line: string) => void): string | null => {
  const part = partOf(path);
  if (rows === 0) {
    rmSync(part);
    return null;
  }
  try {
    giveName(part, path);
    rmSync(part);
    return path;
  } catch (error) {
    tell(`The report cannot be named ${path} (${describeWriteError(error)}); it stays where it is.`);
    return part;
  }
};
