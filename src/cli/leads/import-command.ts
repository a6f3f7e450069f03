import { resolve } from 'node:path';
import { z } from 'zod';
import { onStopSignals } from '../../kit/process.ts';
import { sanitizeLine } from '../../kit/text.ts';
import { shownColumn } from '../../leads/import/column-names.ts';
import type { RejectedRow } from '../../leads/import/input-options.ts';
import type { ImportedProfiles } from '../../leads/lead-index.ts';
import { importLeads, importView, readingFields, toReading, type LeftOut } from '../../operator/leads.ts';
import type { Answer, LeadSession, Session } from '../command.ts';
import { CommandError } from '../command-error.ts';
import { toCommand } from '../form-command.ts';
import { describePlace, type LeadPlace } from '../place.ts';
import { countOf, figureLines, formatCount, formatDuration } from './figures.ts';
import { createProgressLine } from './progress.ts';
import { createRejectedReport } from './rejected-report.ts';

export const fieldsHelp = `
Fields: username, followers, full_name, following, is_verified, is_business (required; --default can set the last
four), category, bio, public_email, media_count, gender (male, female), profile_pic_url, country (code or name), city.
Columns are found by these names and common others (handle, followers_count, biography, ...); --column names any
other column, by its name, its number (#3), or its path in a JSON object (/owner/username).`;

export const filesFields = {
  ...readingFields,
  files: z.array(z.string()).describe('Files, read one after the other.'),
  delimiter: readingFields.delimiter.describe(
    'Character between columns of CSV, or tab (default: detected).',
  ),
  header: readingFields.header.describe(
    'False: the first line of CSV is a row; `column` names columns by number, as `#1`.',
  ),
};

export const readingUsage =
  '[--column <field=column>] [--default <field=value>] [--delimiter <character>] [--no-header] [--max-rejected <count>]';

export const maxShown = 5;
const standardInput = '-';

export const toInputOptions = (
  { files, ...given }: z.output<z.ZodObject<typeof filesFields>>,
  { stdin }: Pick<Session, 'stdin'>,
) => ({ files, ...toReading(given), stdin: files.includes(standardInput) ? stdin() : undefined });

const importFields = {
  ...filesFields,
  format: z
    .enum(['csv', 'jsonl', 'parquet'])
    .optional()
    .describe('Format of the files (default: by their names and contents).'),
  replace: z.boolean().default(false).describe('Drop all profiles that the files do not name.'),
  rejected: z.string().optional().describe('Write rejected rows to this new file, as CSV.'),
};

export const importCommand = toCommand({
  usage: `leads import <file...> [--format <format>] ${readingUsage} [--replace] [--rejected <file>]`,
  title: 'Import profiles from files',
  description:
    'Imports profiles from CSV, JSON Lines and Parquet files, also compressed with gzip or zstd; "-" is standard ' +
    'input. A profile with a known username is replaced, others are added. Searches see the whole import at its ' +
    'end; one that is stopped changes nothing. Invalid rows are left out, and written with their line numbers to a ' +
    'new file beside the first one; if they are more than 1%, nothing is imported. Forgotten people are left out too.',
  fields: importFields,
  example: { files: ['profiles.csv'] },
  examples: [
    'january.parquet february.jsonl.gz --replace --max-rejected 5%',
    'dump.csv --column username=handle --column followers=fans --delimiter ";"',
    '--format jsonl - --json',
  ],
  appendix: fieldsHelp,
  run: async (session, given) =>
    importFiles(
      await session.openProfiles({ isNewAllowed: true }),
      z.object(importFields).parse(given),
      session,
    ),
});

/** Tells whether no report can be beside the file: standard input, also as a path, or `<(...)` of a shell. */
const isStream = (file: string): boolean =>
  file === standardInput || /^\/(?:dev\/(?:fd\/|stdin$)|proc\/)/.test(resolve(file));

/** Imports the files. Throws CommandError, LeadIndexError, LeadInputError and AppError. */
const importFiles = async (
  { keeper, place, audited }: LeadSession,
  options: z.output<z.ZodObject<typeof importFields>>,
  session: Session,
): Promise<Answer> => {
  const { clock, tell, progressOutput, isJson } = session;
  const { files } = options;
  const mode = options.replace ? 'replace' : 'upsert';
  const tellAbove = (line: string): void => {
    progress?.clear();
    tell(sanitizeLine(line));
  };
  const firstRejected: RejectedRow[] = [];
  // Few commands need the readers of files.
  const { openLeadInput } = await import('../../leads/import/open-lead-input.ts');
  const input = await openLeadInput({
    ...toInputOptions(options, session),
    format: options.format,
    onRejected: (rows) => {
      firstRejected.push(...rows.slice(0, maxShown - firstRejected.length));
      report.add(rows);
    },
    onUnusedColumns: ({ file, columns }) =>
      tellAbove(`${file}: nothing is read from the columns ${columns.map(shownColumn).join(', ')}.`),
  });
  const progress = isJson
    ? null
    : createProgressLine({ output: progressOutput, clock, inputProgress: input.progress });
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
    const outcome = await audited({ operation: importLeads.name, input: { files, mode } }, () =>
      stoppingAtSignals('Stopped. Nothing was imported.', (signal) =>
        keeper.importLeads({ input, mode, signal, onProgress: (told) => progress?.show(told) }),
      ),
    );
    const durationMs = clock.now() - startedAt;
    const leftOut = end();
    if (!place.isSearched)
      tell('LEADS_SOURCES does not name embedded: the gateway does not search these profiles.');
    return importAnswer({ mode, outcome, durationMs, ...leftOut }, place);
  } catch (error) {
    const leftOut = describeLeftOut(end());
    if (leftOut !== undefined) tell(leftOut);
    throw error;
  }
};

/** A terminal and the parent process may send the same signal both. */
const echoMs = 1_000;

/** Aborts `work` with `stopped` in place of a signal that ends the process. A second one, a second later, ends it. */
export const stoppingAtSignals = async <T>(
  message: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const controller = new AbortController();
  let stoppedAt = 0;
  const release = onStopSignals((signal) => {
    if (!controller.signal.aborted) {
      stoppedAt = performance.now();
      controller.abort(new CommandError('stopped', message));
    } else if (performance.now() - stoppedAt >= echoMs) {
      release();
      process.kill(process.pid, signal);
    }
  });
  try {
    return await work(controller.signal);
  } catch (error) {
    // An error after the abort follows from it.
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    release();
  }
};

/** Describes rejected rows and unknown countries to people. Undefined if there are none. */
export const describeLeftOut = ({ input, firstRejected, report }: LeftOut): string | undefined => {
  const { rejected, unknownCountries } = input;
  const lines: string[] = [];
  if (rejected > 0) {
    const which = rejected === firstRejected.length ? ':' : ', among them:';
    lines.push(`${countOf(rejected, 'row was', 'rows were')} rejected${which}`);
    for (const { file, line, problem } of firstRejected) lines.push(`  ${file}:${line}: ${problem}`);
    if (report !== null) lines.push(`All of them, and why: ${report}`);
  }
  if (unknownCountries.rows > 0) {
    const rows = countOf(unknownCountries.rows, 'row');
    lines.push(`The country of ${rows} is not known and was left out: ${unknownCountries.first.join(', ')}.`);
  }
  return lines.length === 0 ? undefined : lines.map(sanitizeLine).join('\n');
};

/** With fewer rows, the fixed cost of an import hides its speed. */
const minTimedRows = 1_000;

const importAnswer = (end: ImportedProfiles & LeftOut, place: LeadPlace): Answer => {
  const told = importView.show({ ...end, place });
  const { rows, removed, rows_per_second: rate, unknown_countries: unknown } = told;
  const figures = figureLines([
    ['added', formatCount(told.added)],
    ['updated', formatCount(told.updated)],
    ...(told.mode === 'replace' && removed !== null
      ? [['removed', formatCount(removed), 'the input does not name them'] as const]
      : []),
    ['repeated', formatCount(told.repeated), 'a later row has the same username'],
    ['forgotten', formatCount(told.forgotten), 'rows of people who asked for it'],
    ['rejected', formatCount(told.rejected)],
    ...(unknown > 0 ? [['no country', formatCount(unknown), 'their country is not known'] as const] : []),
    ['profiles', formatCount(told.profiles), 'in all, now'],
  ]);
  const speed = rate === null || rows < minTimedRows ? '' : ` (${formatCount(rate)} rows/s)`;
  const where = `${describePlace(place)} in ${formatDuration(end.durationMs)}${speed}`;
  return {
    json: { import: told },
    text: `${countOf(rows, 'row')} imported into ${where}:\n${figures}`,
    remark: describeLeftOut(end),
  };
};
