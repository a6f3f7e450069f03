import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { shownColumn } from '../../leads/import/column-names.ts';
import type { ColumnMap, FileLeadInput, InputFormat, RejectedRow } from '../../leads/import/input-options.ts';
import type { LeadDefaults } from '../../leads/lead-fields.ts';
import {
  LeadKeeperError,
  type ImportOutcome,
  type ImportProgress,
  type LeadStats,
} from '../../leads/lead-keeper.ts';
import type { Answer, LeadSession } from '../command-context.ts';
import { sanitizeCell } from '../format-table.ts';
import { stoppingAtSignals } from '../stop-signals.ts';
import { fileExists } from '../write-new-file.ts';
import { countOf } from './figures.ts';
import { describeRejections, importAnswer, type Rejections } from './import-answer.ts';
import { createProgressLine, type ProgressLine } from './progress.ts';
import { createRejectedReport, type RejectedReport } from './rejected-report.ts';
import { createWatchedInput, type RejectedLimit } from './watched-input.ts';

const maxShown = 5;
const standardInput = '-';

/** Tells whether no report can be beside the file: standard input, also as a path, or `<(...)` of a shell. */
const isStream = (file: string): boolean =>
  file === standardInput || /^\/(?:dev\/(?:fd\/|stdin$)|proc\/)/.test(resolve(file));

export interface ImportOptions {
  format?: InputFormat;
  column?: ColumnMap;
  default?: LeadDefaults;
  delimiter?: string;
  /** False with --no-header. */
  header: boolean;
  replace?: true;
  rejected?: string;
  maxRejected?: RejectedLimit;
}

/** An open input with its report and its progress. */
interface Reading {
  input: FileLeadInput;
  report: RejectedReport;
  progress: ProgressLine | null;
  firstRejected: readonly RejectedRow[];
  /** Writes a line above the progress. */
  tellAbove: (line: string) => void;
}

const openReading = async (
  { openInput, stdin, tell, progressOutput, clock }: LeadSession,
  files: readonly string[],
  options: ImportOptions,
): Promise<Reading> => {
  let progress: ProgressLine | null = null;
  const tellAbove = (line: string): void => {
    progress?.clear();
    tell(sanitizeCell(line));
  };
  const [firstFile = standardInput] = files;
  const report = createRejectedReport({
    named: options.rejected ?? null,
    input: isStream(firstFile) ? null : firstFile,
    tell: tellAbove,
  });
  const firstRejected: RejectedRow[] = [];
  const input = await openInput({
    files,
    hasHeader: options.header,
    format: options.format,
    columns: options.column,
    defaults: options.default,
    delimiter: options.delimiter,
    stdin: files.includes(standardInput) ? stdin() : undefined,
    onRejected: (row) => {
      if (firstRejected.length < maxShown) firstRejected.push(row);
      report.add(row);
    },
    onUnusedColumns: ({ file, columns }) =>
      tellAbove(`${file}: nothing is read from the columns ${columns.map(shownColumn).join(', ')}.`),
  });
  if (progressOutput !== null)
    progress = createProgressLine({ output: progressOutput, clock, inputProgress: () => input.progress() });
  return { input, report, progress, firstRejected, tellAbove };
};

/** Closes the report. `isOver`: the import will not be resumed. */
const endReading = (
  { input, report, progress, firstRejected }: Reading,
  { isOver }: { isOver: boolean },
): Rejections => {
  progress?.clear();
  return { count: input.progress().rejected, first: firstRejected, report: report.close({ isOver }) };
};

const stopMessage = (key: string | null): string =>
  key === null
    ? 'Stopped. Nothing was imported, and standard input must be given again from its beginning.'
    : 'Stopped. Nothing was imported yet; the same command resumes the import.';

/** Null: the stats cannot be read, and all profiles are to be replaced. Throws LeadKeeperError. */
const statsBefore = async (
  { keeper }: LeadSession,
  mode: 'upsert' | 'replace',
): Promise<LeadStats | null> => {
  try {
    return await keeper.stats();
  } catch (error) {
    if (mode === 'replace' && error instanceof LeadKeeperError && error.problem === 'damaged') return null;
    throw error;
  }
};

const removedBetween = (before: LeadStats | null, { added, profiles }: ImportOutcome): number | null => {
  if (before === null) return null;
  const known = before.synthetic ? 0 : before.profiles;
  return Math.max(0, known + added - profiles);
};

/** Imports the files. Throws CommandError, LeadKeeperError and LeadInputError. */
export const importProfiles = async (
  session: LeadSession,
  files: readonly string[],
  options: ImportOptions,
): Promise<Answer> => {
  const { keeper, place, clock, tell } = session;
  const mode = options.replace === true ? 'replace' : 'upsert';
  const before = await statsBefore(session, mode);
  if (options.rejected !== undefined && existsSync(options.rejected)) throw fileExists(options.rejected);
  const reading = await openReading(session, files, options);
  const { input, report, progress } = reading;
  const watched = createWatchedInput({ input, report, limit: options.maxRejected ?? null });
  let isResumed = false;
  let discardedRows = before?.unfinished?.rows ?? 0;
  const onProgress = (told: ImportProgress): void => {
    if (told.phase === 'reading' || told.phase === 'indexing') {
      isResumed = told.isResumed;
      if (!isResumed && discardedRows > 0)
        reading.tellAbove(`Discards an unfinished import of ${countOf(discardedRows, 'row')}.`);
      discardedRows = 0;
    }
    progress?.show(told);
  };
  const startedAt = clock.now();
  try {
    const outcome = await stoppingAtSignals(stopMessage(input.key), (signal) =>
      keeper.importLeads({ input: watched, mode, onProgress, signal }),
    );
    const rejections = endReading(reading, { isOver: true });
    if (!place.isSearched)
      tell('LEADS_SOURCES does not name embedded: the gateway does not search these profiles.');
    return importAnswer({
      place,
      mode,
      isResumed,
      outcome,
      removed: mode === 'upsert' ? 0 : removedBetween(before, outcome),
      durationMs: clock.now() - startedAt,
      rejections,
    });
  } catch (error) {
    const isOver = input.key === null || watched.isRefused?.() === true;
    const rejected = describeRejections(endReading(reading, { isOver }));
    if (rejected !== undefined) tell(rejected);
    throw error;
  }
};
