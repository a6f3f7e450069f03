import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { RejectedRow } from '../../leads/import/input-options.ts';
import { CommandError } from '../command-error.ts';
import { csvLine } from '../../kit/csv.ts';
import { codeOf, describeWriteError, fileExists } from '../write-new-file.ts';
import { formatCount } from './figures.ts';

export type RejectedReport = ReturnType<typeof createRejectedReport>;

/** More rejected rows are best corrected at their source. */
const defaultMaxRows = 1_000_000;
const maxNumbered = 1_000;

const header = csvLine(['file', 'line', 'problem', 'row']);

interface OpenReport {
  path: string;
  file: number;
  rows: number;
}

/** Creates a file that only this user can read. Null: there is one. Throws the system's error. */
const create = (path: string): OpenReport | null => {
  try {
    return { path, file: openSync(path, 'wx', 0o600), rows: 0 };
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return null;
    throw error;
  }
};

/** Creates `profiles.csv.rejected.csv`, or with a number before the ending if there are such files. */
const createBeside = (input: string): OpenReport => {
  for (let number = 1; number <= maxNumbered; number += 1) {
    const report = create(`${input}.rejected${number === 1 ? '' : `-${number}`}.csv`);
    if (report !== null) return report;
  }
  throw new CommandError(
    'file_exists',
    `There are too many files ${input}.rejected-*.csv; remove the old ones.`,
  );
};

interface ReportOptions {
  named: string | null;
  /** The first file of the import. */
  input: string | null;
  maxRows?: number;
  tell: (line: string) => void;
}

/**
 * Writes rejected rows to a new CSV file that only this user can read: the file `named`, or else one beside `input` that
 * is created with the first rejected row; none if both are null. If a file beside `input` cannot be written, it tells so
 * and the import continues. For the file `named`, it throws CommandError `file_exists` and `file_failed`, here and in
 * `add`.
 */
export const createRejectedReport = ({ maxRows = defaultMaxRows, tell, ...given }: ReportOptions) => {
  const named = given.named && resolve(given.named);
  const input = given.input && resolve(given.input);
  let open: OpenReport | null = null;
  let isGivenUp = false;

  const orGiveUp = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (error instanceof CommandError && named !== null) throw error;
      const path = open?.path ?? named ?? `A report beside ${input}`;
      const problem = `${path} cannot be written: ${describeWriteError(error)}.`;
      if (named !== null) throw new CommandError('file_failed', problem, { cause: error });
      isGivenUp = true;
      tell(`${problem} Rejected rows are only counted from here on; --rejected names another file for them.`);
    }
  };
  // Fails before millions of rows are read if the file cannot be created.
  if (named !== null)
    orGiveUp(() => {
      open = create(named);
      if (open === null) throw fileExists(named);
    });

  return {
    add: (rejected: readonly RejectedRow[]): void => {
      if (isGivenUp || (named === null && input === null)) return;
      orGiveUp(() => {
        open ??= createBeside(input ?? '');
        const room = maxRows - open.rows;
        const lines = rejected
          .slice(0, Math.max(0, room))
          .map(({ file, line, problem, row }) => csvLine([file, String(line), problem, row]));
        writeFileSync(open.file, [open.rows === 0 ? header : '', ...lines].join(''));
        open.rows += rejected.length;
        if (room >= 0 && rejected.length > room)
          tell(`The report ends after ${formatCount(maxRows)} rows; more are only counted.`);
      });
    },
    /** Returns the absolute path of the report; null if it has no rows, and was removed, or could not be written. */
    close: (): string | null => {
      if (open === null) return null;
      const { path, file, rows } = open;
      closeSync(file);
      open = null;
      if (rows > 0) return path;
      rmSync(path);
      return null;
    },
  };
};
