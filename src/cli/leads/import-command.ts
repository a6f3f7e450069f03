import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import type { LeadDefaults } from '../../leads/lead-fields.ts';
import { shownColumn } from '../../leads/import/column-names.ts';
import type {
  ColumnMap,
  FileLeadInput,
  InputFormat,
  LeadInputOptions,
  RejectedRow,
} from '../../leads/import/input-options.ts';
import {
  LeadKeeperError,
  type ImportOutcome,
  type ImportProgress,
  type LeadStats,
} from '../../leads/lead-keeper.ts';
import type { Answer, CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { importAnswer, rejectedLines, type Rejections } from './import-answer.ts';
import {
  inputFormats,
  readColumn,
  readDefault,
  readDelimiter,
  readRejectedLimit,
} from './import-options.ts';
import { countOf } from './figures.ts';
import { placeOption } from './place-option.ts';
import type { LeadPlaceName } from './place.ts';
import { createProgressLine, type ProgressLine } from './progress.ts';
import { createRejectedReport, type RejectedReport } from './rejected-report.ts';
import type { LeadSession } from './session.ts';
import { stoppingAtSignals } from './stop-signals.ts';
import { createWatchedInput, type RejectedLimit } from './watched-input.ts';
import { fileExists } from '../write-new-file.ts';
import { printable } from '../printable.ts';

const mostShown = 5;
const standardInput = '-';

/** Whether no file can be made beside it: standard input, also as a path, and what `<(...)` of a shell names. */
const isPassing = (file: string): boolean =>
  file === standardInput || /^\/(?:dev\/(?:fd\/|stdin$)|proc\/)/.test(resolve(file));

interface ImportOptions {
  format?: InputFormat;
  column?: ColumnMap;
  default?: LeadDefaults;
  delimiter?: string;
  /** False with --no-header. */
  header: boolean;
  replace?: true;
  rejected?: string;
  maxRejected?: RejectedLimit;
  to?: LeadPlaceName;
}

/** An input, and where what it rejects and how far it is are told. */
interface Reading {
  input: FileLeadInput;
  report: RejectedReport;
  progress: ProgressLine | null;
  firstRejected: readonly RejectedRow[];
  /** Writes a line above the one that shows the progress. */
  tellAbove: (line: string) => void;
}

const toInputOptions = (files: readonly string[], options: ImportOptions): LeadInputOptions => ({
  files,
  hasHeader: options.header,
  ...(options.format === undefined ? {} : { format: options.format }),
  ...(options.column === undefined ? {} : { columns: options.column }),
  ...(options.default === undefined ? {} : { defaults: options.default }),
  ...(options.delimiter === undefined ? {} : { delimiter: options.delimiter }),
});

const openReading = async (
  { openInput, stdin, tell, progressOutput, clock }: LeadSession,
  files: readonly string[],
  options: ImportOptions,
): Promise<Reading> => {
  let progress: ProgressLine | null = null;
  const tellAbove = (line: string): void => {
    progress?.clear();
    tell(printable(line));
  };
  const [firstFile = standardInput] = files;
  const report = createRejectedReport({
    named: options.rejected ?? null,
    input: isPassing(firstFile) ? null : firstFile,
    tell: tellAbove,
  });
  const firstRejected: RejectedRow[] = [];
  const input = await openInput({
    ...toInputOptions(files, options),
    ...(files.includes(standardInput) ? { stdin: stdin() } : {}),
    onRejected: (row) => {
      if (firstRejected.length < mostShown) firstRejected.push(row);
      report.add(row);
    },
    onUnusedColumns: ({ file, columns }) =>
      tellAbove(`${file}: nothing is read from the columns ${columns.map(shownColumn).join(', ')}.`),
  });
  if (progressOutput !== null)
    progress = createProgressLine({ output: progressOutput, clock, inputProgress: () => input.progress() });
  return { input, report, progress, firstRejected, tellAbove };
};

/** Closes the report, and answers what was rejected. `isOver`: the import will not be gone on with. */
const endReading = (
  { input, report, progress, firstRejected }: Reading,
  { isOver }: { isOver: boolean },
): Rejections => {
  progress?.clear();
  return { count: input.progress().rejected, first: firstRejected, report: report.close({ isOver }) };
};

const stopWords = (key: string | null): string =>
  key === null
    ? 'Stopped. Nothing was taken over, and what comes over standard input must be given again from its beginning.'
    : 'Stopped. Nothing was taken over yet; the same command goes on where it stopped.';

/** Null: they cannot be read, and all of them are to be replaced. Throws LeadKeeperError. */
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

const notSearched = (place: LeadPlaceName): string =>
  `LEADS_SOURCES does not name ${place}: the gateway does not search these profiles.`;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Lists of forgotten people hold no names, and are not taken along by an export: who moves would bring everybody back. */
const tellOfForgottenElsewhere = async (
  { place, countForgotten, tell }: LeadSession,
  before: LeadStats | null,
): Promise<void> => {
  if (place.kind !== 'postgres' || before?.forgotten !== 0) return;
  const people = await countForgotten(place.embeddedFolder).catch((error: unknown) => {
    tell(
      `The list of forgotten people in ${place.embeddedFolder} cannot be read (${messageOf(error)}): if there are any, delete them in PostgreSQL too (leads delete --to postgres).`,
    );
    return 0;
  });
  if (people > 0)
    tell(
      `${countOf(people, 'person is', 'people are')} forgotten in the embedded index, and nobody in PostgreSQL, where this import lets them in: ` +
        'delete them there too (leads delete --to postgres).',
    );
};

const importProfiles = async (
  session: LeadSession,
  files: readonly string[],
  options: ImportOptions,
): Promise<Answer> => {
  const { keeper, place, clock } = session;
  const mode = options.replace === true ? 'replace' : 'upsert';
  const before = await statsBefore(session, mode);
  await tellOfForgottenElsewhere(session, before);
  if (options.rejected !== undefined && existsSync(options.rejected)) throw fileExists(options.rejected);
  const reading = await openReading(session, files, options);
  const { input, report, progress } = reading;
  const watched = createWatchedInput({ input, report, limit: options.maxRejected ?? null });
  let isResumed = false;
  let rowsToGiveUp = before?.unfinished?.rows ?? 0;
  const onProgress = (told: ImportProgress): void => {
    isResumed = told.isResumed;
    if (!isResumed && rowsToGiveUp > 0)
      reading.tellAbove(`Gives up an import of ${countOf(rowsToGiveUp, 'row')} that did not end.`);
    rowsToGiveUp = 0;
    progress?.show(told);
  };
  const startedAt = clock.now();
  try {
    const outcome = await stoppingAtSignals(stopWords(input.key), (signal) =>
      keeper.importLeads({ input: watched, mode, onProgress, signal }),
    );
    const rejections = endReading(reading, { isOver: true });
    if (!place.isSearched) session.tell(notSearched(place.kind));
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
    for (const line of rejectedLines(endReading(reading, { isOver }))) session.tell(line);
    throw error;
  }
};

const fieldsHelp = `
Fields: username, followers, full_name, following, is_verified, is_business (needed, the last four unless --default
names a value), category, bio, public_email, media_count, gender (male, female), profile_pic_url, country (two
letters), city.
Columns are found by these names and common others (handle, followers_count, biography, ...); --column names one
that is called otherwise, by its name, its number (#3), or its way into a JSON object (/owner/username).`;

/** Adds `leads import`. */
export const addImportCommand = (leads: Command, context: CommandContext): void => {
  const importing = leads
    .command('import')
    .summary('take profiles over from files')
    .description(
      'Takes profiles over from CSV, JSON Lines and Parquet files, also compressed with gzip or zstd; "-" is standard ' +
        'input. A profile that is known by its username is replaced, others are added. Searches see all of it at once, ' +
        'at the end; stopped or killed before, the same command goes on where it was. Rows that cannot be taken are ' +
        'left out, and written with their line numbers to a new file beside the first one. People who asked to be ' +
        'forgotten are left out too.',
    )
    .argument('<file...>', 'files, read one after the other')
    .addOption(
      new Option('--format <format>', 'what the files are (default: by their names and contents)').choices(
        inputFormats,
      ),
    )
    .option('--column <field=column>', 'read a field from this column; can be repeated', readColumn)
    .option(
      '--default <field=value>',
      'for rows without full_name, following, is_verified or is_business, which are refused else; can be repeated',
      readDefault,
    )
    .option(
      '--delimiter <character>',
      'what divides columns of CSV, or tab (default: found out)',
      readDelimiter,
    )
    .option('--no-header', 'the first line of CSV is a row; --column names columns by number, as #1')
    .option('--replace', 'drop all profiles that the files do not name')
    .option('--rejected <file>', 'write rejected rows to this new file, as CSV')
    .option(
      '--max-rejected <count>',
      'change nothing when more rows are rejected: a number, or a share such as 1%',
      readRejectedLimit,
    )
    .addOption(placeOption())
    .action((files: string[], options: ImportOptions) =>
      context.runOnLeads({ to: options.to, isNewAllowed: true }, (session) =>
        importProfiles(session, files, options),
      ),
    );
  addExamples(importing, [
    'causeway leads import profiles.csv',
    'causeway leads import january.parquet february.jsonl.gz --replace --max-rejected 1%',
    'causeway leads import dump.csv --column username=handle --column followers=fans --delimiter ";"',
    'causeway leads import --format jsonl - --json',
  ]);
  importing.addHelpText('after', fieldsHelp);
};
