import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { shownColumn } from '../../leads/import/column-names.ts';
import type { ColumnMap, InputFormat, RejectedRow } from '../../leads/import/input-options.ts';
import { importProfiles, type ImportedProfiles } from '../../leads/import/import-profiles.ts';
import { createWatchedInput, type RejectedLimit } from '../../leads/import/watched-input.ts';
import type { LeadDefaults } from '../../leads/lead-fields.ts';
import { importLeads } from '../../operator/leads/import-leads.ts';
import type { Answer, LeadSession } from '../command-context.ts';
import { sanitizeLine } from '../../kit/sanitize-line.ts';
import { stoppingAtSignals } from '../stop-signals.ts';
import { fileExists } from '../write-new-file.ts';
import { countOf } from './figures.ts';
import { describeRejections, importAnswer, type Rejections } from './import-answer.ts';
import { createProgressLine, type ProgressLine } from './progress.ts';
import { createRejectedReport } from './rejected-report.ts';

const maxShown = 5;
const standardInput = '-';

/** Tells whether no report can be beside the file: standard input, also as a path, or `<(...)` of a shell. */
const isStream = (file: string): boolean =>
  file === standardInput || /^\/(?:dev\/(?:fd\/|stdin$)|proc\/)/.test(resolve(file));

/** The options that tell how files of profiles are read. */
export interface ReadingOptions {
  column?: ColumnMap;
  default?: LeadDefaults;
  delimiter?: string;
  /** False with --no-header. */
  header: boolean;
}

export interface ImportOptions extends ReadingOptions {
  format?: InputFormat;
  replace?: true;
  rejected?: string;
  maxRejected?: RejectedLimit;
}

type Reading = Awaited<ReturnType<typeof openReading>>;

/** Opens an input with its report and its progress. */
const openReading = async (
  { openInput, stdin, tell, progressOutput, clock }: LeadSession,
  files: readonly string[],
  options: ImportOptions,
) => {
  let progress: ProgressLine | null = null;
  const tellAbove = (line: string): void => {
    progress?.clear();
    tell(sanitizeLine(line));
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

/** Imports the files. Throws CommandError, LeadKeeperError and LeadInputError. */
export const importFiles = async (
  session: LeadSession,
  files: readonly string[],
  options: ImportOptions,
): Promise<Answer> => {
  const { keeper, place, clock, tell } = session;
  const mode = options.replace === true ? 'replace' : 'upsert';
  if (options.rejected !== undefined && existsSync(options.rejected)) throw fileExists(options.rejected);
  const reading = await openReading(session, files, options);
  const { input, report, progress } = reading;
  const watched = createWatchedInput({ input, report, limit: options.maxRejected ?? null });
  const doImport = (signal: AbortSignal): Promise<ImportedProfiles> =>
    importProfiles(keeper, {
      input: watched,
      mode,
      clock,
      signal,
      onDiscard: (rows) => reading.tellAbove(`Discards an unfinished import of ${countOf(rows, 'row')}.`),
      onProgress: (told) => progress?.show(told),
    });
  try {
    const imported = await session.audited({ operation: importLeads.name, input: { files, mode } }, () =>
      stoppingAtSignals(stopMessage(input.key), doImport),
    );
    const rejections = endReading(reading, { isOver: true });
    if (!place.isSearched)
      tell('LEADS_SOURCES does not name embedded: the gateway does not search these profiles.');
    return importAnswer({ ...imported, place, rejections });
  } catch (error) {
    const isOver = input.key === null || watched.isRefused?.() === true;
    const rejected = describeRejections(endReading(reading, { isOver }));
    if (rejected !== undefined) tell(rejected);
    throw error;
  }
};
