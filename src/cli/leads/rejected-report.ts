import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import type { RejectedRow } from '../../leads/import/input-options.ts';
import { CommandError } from '../command-error.ts';
import { codeOf, writeTrouble } from '../write-trouble.ts';
import { csvLine } from '../csv-line.ts';
import { formatCount } from './figures.ts';
import {
  clearPart,
  freePath,
  giveName,
  openMarked,
  partOf,
  reportHeader,
  type ReportMark,
} from './report-file.ts';
import { fileExists } from '../write-new-file.ts';

/**
 * Where rejected rows are written down: a new CSV file that only this user can read. It is at `path`.part until the import
 * is over.
 */
export interface RejectedReport {
  /**
   * Before the first row; with the mark of an import that did not end, its report is gone on with, and what it wrote
   * behind the mark is written again. Throws CommandError `file_exists` and `file_failed`, when the operator has named the
   * file, as `add` and `mark` do. Without a mark, what a killed import left in the operator's `.part` is written over.
   */
  begin(mark: ReportMark | null): void;
  add(row: RejectedRow): void;
  /** What was added until now is in the file; null: there is none yet. */
  mark(): ReportMark | null;
  /**
   * The whole path of the report; null where nothing was rejected, or it could not be written. A report without rows goes.
   * Where the import is not over and may be gone on with, the report stays a `.part`.
   */
  close(end: { isOver: boolean }): string | null;
}

/** Who has more rows to put right does it at their source. */
const mostReported = 1_000_000;
const bufferedCharacters = 65_536;

/**
 * A report of rejected rows in `named`, or else in a file beside `input` that is made with the first such row; none where
 * both are null. What cannot be written there is told, and does not end the import, unless the operator has named it.
 */
export const createRejectedReport = ({
  most = mostReported,
  tell,
  ...given
}: {
  named: string | null;
  /** The first file that is read. */
  input: string | null;
  /** So many rows are written down; all are counted. */
  most?: number;
  tell: (line: string) => void;
}): RejectedReport => {
  // Whole, as an import may be gone on with from another folder.
  const named = given.named === null ? null : resolve(given.named);
  const input = given.input === null ? null : resolve(given.input);
  let open: { file: number; mark: ReportMark } | null = null;
  let buffered = '';
  let isGivenUp = named === null && input === null;

  const giveUp = (error: unknown): void => {
    if (error instanceof CommandError && named !== null) throw error;
    const problem = `${open?.mark.path ?? named ?? `A report beside ${input}`} cannot be written: ${writeTrouble(error)}`;
    if (named !== null) throw new CommandError('file_failed', `${problem}.`, { cause: error });
    isGivenUp = true;
    tell(`${problem}. Rejected rows are only counted from here on; --rejected names another file for them.`);
  };
  const orGiveUp = (work: () => void): void => {
    if (isGivenUp) return;
    try {
      work();
    } catch (error) {
      giveUp(error);
    }
  };
  const flush = (): void => {
    if (open === null || buffered === '') return;
    const data = Buffer.from(buffered);
    buffered = '';
    const { file, mark } = open;
    for (let done = 0; done < data.length;)
      done += writeSync(file, data, done, data.length - done, mark.bytes + done);
    open.mark = { ...mark, bytes: mark.bytes + data.length, crc: crc32(data, mark.crc) };
  };
  const make = (path: string): { file: number; mark: ReportMark } => {
    if (existsSync(path)) throw fileExists(path);
    if (path === named) clearPart(partOf(path));
    try {
      const file = openSync(partOf(path), 'wx', 0o600);
      buffered = reportHeader;
      return { file, mark: { path, bytes: 0, crc: 0, rows: 0 } };
    } catch (error) {
      throw codeOf(error) === 'EEXIST' ? fileExists(partOf(path)) : error;
    }
  };
  const goOn = (mark: ReportMark): void => {
    if (named !== null && named !== mark.path)
      return tell(
        `${partOf(mark.path)} has the rows that were rejected before, and ${named} gets the others.`,
      );
    const file = openMarked(mark);
    if (file !== null) open = { file, mark };
    else if (mark.rows > 0)
      tell(`${partOf(mark.path)} is not as it was left, so the report goes on in a new file.`);
  };

  return {
    begin: (mark) =>
      orGiveUp(() => {
        if (mark !== null) goOn(mark);
        // Whether it can be made is told before millions of rows are read.
        if (open === null && named !== null) open = make(named);
      }),
    add: ({ file, line, problem, row }) =>
      orGiveUp(() => {
        open ??= make(named ?? freePath(`${input}.rejected`));
        open.mark = { ...open.mark, rows: open.mark.rows + 1 };
        const { rows } = open.mark;
        if (rows === most + 1)
          tell(`The report ends after ${formatCount(most)} rows; more are only counted.`);
        if (rows > most) return;
        buffered += csvLine([file, String(line), problem, row]);
        if (buffered.length > bufferedCharacters) flush();
      }),
    mark: () => {
      orGiveUp(flush);
      return open === null ? null : open.mark;
    },
    close: ({ isOver }) => {
      orGiveUp(flush);
      if (open === null) return null;
      const { path, rows } = open.mark;
      closeSync(open.file);
      open = null;
      if (rows === 0) {
        rmSync(partOf(path));
        return null;
      }
      if (!isOver) return partOf(path);
      try {
        giveName(path);
        return path;
      } catch (error) {
        tell(`The report cannot be named ${path} (${writeTrouble(error)}); it stays where it is.`);
        return partOf(path);
      }
    },
  };
};
