import { resolve } from 'node:path';
import { shownColumn } from '../../leads/import/column-names.ts';
import type { ColumnMap, InputFormat, RejectedRow } from '../../leads/import/input-options.ts';
import type { RejectedLimit } from '../../leads/import/rejected-limit.ts';
import type { LeadDefaults } from '../../leads/lead-fields.ts';
import { importLeads } from '../../operator/leads/import-leads.ts';
import type { Answer, LeadSession } from '../command-context.ts';
import { sanitizeLine } from '../../kit/text.ts';
import { stoppingAtSignals } from '../stop-signals.ts';
import { describeLeftOut, importAnswer, type LeftOut } from './import-answer.ts';
import { createProgressLine } from './progress.ts';
import { createRejectedReport } from './rejected-report.ts';

/** Rejected rows that are shown to people. */
export const maxShown = 5;
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
  maxRejected?: RejectedLimit;
}

export interface ImportOptions extends ReadingOptions {
  format?: InputFormat;
  replace?: true;
  rejected?: string;
}

/** Returns the options of an input. */
export const toInputOptions = (
  files: readonly string[],
  { header, column, default: defaults, delimiter, maxRejected }: ReadingOptions,
  stdin: LeadSession['stdin'],
) => ({
  files,
  hasHeader: header,
  columns: column,
  defaults,
  delimiter,
  maxRejected,
  stdin: files.includes(standardInput) ? stdin() : undefined,
});

/** Imports the files. Throws CommandError, LeadIndexError, LeadInputError and AppError. */
export const importFiles = async (
  session: LeadSession,
  files: readonly string[],
  options: ImportOptions,
): Promise<Answer> => {
  const { keeper, place, clock, tell, stdin, progressOutput } = session;
  const mode = options.replace === true ? 'replace' : 'upsert';
  const tellAbove = (line: string): void => {
    progress?.clear();
    tell(sanitizeLine(line));
  };
  const firstRejected: RejectedRow[] = [];
  // Few commands need the readers of files.
  const { openLeadInput } = await import('../../leads/import/open-lead-input.ts');
  const input = await openLeadInput({
    ...toInputOptions(files, options, stdin),
    format: options.format,
    onRejected: (rows) => {
      firstRejected.push(...rows.slice(0, maxShown - firstRejected.length));
      report.add(rows);
    },
    onUnusedColumns: ({ file, columns }) =>
      tellAbove(`${file}: nothing is read from the columns ${columns.map(shownColumn).join(', ')}.`),
  });
  const progress =
    progressOutput && createProgressLine({ output: progressOutput, clock, inputProgress: input.progress });
  const [firstFile = standardInput] = files;
  const report = createRejectedReport({
    named: options.rejected ?? null,
    input: isStream(firstFile) ? null : firstFile,
    tell: tellAbove,
  });
  const end = (): LeftOut => {
    progress?.clear();
    return { input: input.progress(), firstRejected, report: report.close() };
  };
  try {
    const startedAt = clock.now();
    const outcome = await session.audited({ operation: importLeads.name, input: { files, mode } }, () =>
      stoppingAtSignals('Stopped. Nothing was imported.', (signal) =>
        keeper.importLeads({ input, mode, signal, onProgress: (told) => progress?.show(told) }),
      ),
    );
    const durationMs = clock.now() - startedAt;
    const leftOut = end();
    if (!place.isSearched)
      tell('LEADS_SOURCES does not name embedded: the gateway does not search these profiles.');
    return importAnswer({ mode, outcome, durationMs, ...leftOut, place });
  } catch (error) {
    const leftOut = describeLeftOut(end());
    if (leftOut !== undefined) tell(leftOut);
    throw error;
  }
};
