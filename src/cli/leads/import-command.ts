import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ColumnMap, InputFormat } from '../../leads/import/input-options.ts';
import { defaultableFields, leadFields, type LeadDefaults } from '../../leads/lead-fields.ts';
import { checkLead } from '../../leads/query/check-lead.ts';
import type { CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { importProfiles, type ImportOptions } from './import-profiles.ts';
import type { RejectedLimit } from './watched-input.ts';

const inputFormats = ['csv', 'jsonl', 'parquet'] as const satisfies readonly InputFormat[];

/** Splits `field=text` at the first equals sign. Throws InvalidArgumentError for a field that is not one of `fields`. */
const readField = <F extends string>(
  pair: string,
  fields: readonly F[],
  example: string,
): { field: F; text: string } => {
  const at = pair.indexOf('=');
  const name = pair.slice(0, Math.max(at, 0)).trim();
  const field = fields.find((known) => known === name);
  if (field === undefined)
    throw new InvalidArgumentError(`Write ${example}. The fields: ${fields.join(', ')}.`);
  return { field, text: pair.slice(at + 1) };
};

/** Adds one `field=column` to those before it. Throws InvalidArgumentError. */
export const readColumn = (pair: string, before: ColumnMap = {}): ColumnMap => {
  const example = 'a field, =, and its column, such as followers=follower_count';
  const { field, text } = readField(pair, leadFields, example);
  if (before[field] !== undefined) throw new InvalidArgumentError(`${field} has a column already.`);
  return { ...before, [field]: text };
};

/** Adds one `field=value` to those before it. Throws InvalidArgumentError. */
export const readDefault = (pair: string, before: LeadDefaults = {}): LeadDefaults => {
  const example = 'a field, =, and the value of rows without it, such as following=0';
  const { field, text } = readField(pair, defaultableFields, example);
  if (before[field] !== undefined) throw new InvalidArgumentError(`${field} has a default already.`);
  const checked = checkLead({
    username: 'anybody',
    full_name: '',
    followers: 0,
    following: 0,
    is_verified: false,
    is_business: false,
    [field]: text,
  });
  if ('problem' in checked) throw new InvalidArgumentError(checked.problem);
  return { ...before, [field]: checked.lead[field] };
};

/** Throws InvalidArgumentError. */
export const readDelimiter = (text: string): string => {
  if (text === 'tab' || text === '\\t') return '\t';
  if (text.length !== 1 || /["\r\n]/.test(text))
    throw new InvalidArgumentError('Write one character, such as ";", or tab.');
  return text;
};

/** Reads `100` or `2.5%`. Throws InvalidArgumentError. */
export const readRejectedLimit = (text: string): RejectedLimit => {
  const [, number = '', sign] = /^(\d{1,9}(?:\.\d{1,6})?)(%?)$/.exec(text) ?? [];
  const value = Number(number);
  if (sign === '%' && value <= 100) return { share: value / 100 };
  if (sign === '' && Number.isInteger(value)) return { rows: value };
  throw new InvalidArgumentError('Write a number of rows, such as 100, or a share of them, such as 2.5%.');
};

const fieldsHelp = `
Fields: username, followers, full_name, following, is_verified, is_business (required; --default can set the last
four), category, bio, public_email, media_count, gender (male, female), profile_pic_url, country (two letters), city.
Columns are found by these names and common others (handle, followers_count, biography, ...); --column names any
other column, by its name, its number (#3), or its path in a JSON object (/owner/username).`;

/** Adds `leads import`. */
export const addImportCommand = (leads: Command, context: CommandContext): void => {
  const importing = leads
    .command('import')
    .summary('import profiles from files')
    .description(
      'Imports profiles from CSV, JSON Lines and Parquet files, also compressed with gzip or zstd; "-" is standard ' +
        'input. A profile with a known username is replaced, others are added. Searches see the whole import at its ' +
        'end; the same command resumes an import that was stopped or killed. Invalid rows are left out, and written ' +
        'with their line numbers to a new file beside the first one. Forgotten people are left out too.',
    )
    .argument('<file...>', 'files, read one after the other')
    .addOption(
      new Option('--format <format>', 'format of the files (default: by their names and contents)').choices(
        inputFormats,
      ),
    )
    .option('--column <field=column>', 'read a field from this column; can be repeated', readColumn)
    .option(
      '--default <field=value>',
      'value of full_name, following, is_verified or is_business for rows without it; can be repeated',
      readDefault,
    )
    .option(
      '--delimiter <character>',
      'character between columns of CSV, or tab (default: detected)',
      readDelimiter,
    )
    .option('--no-header', 'the first line of CSV is a row; --column names columns by number, as #1')
    .option('--replace', 'drop all profiles that the files do not name')
    .option('--rejected <file>', 'write rejected rows to this new file, as CSV')
    .option(
      '--max-rejected <count>',
      'change nothing if more rows are rejected: a number, or a share such as 1%',
      readRejectedLimit,
    )
    .action((files: string[], options: ImportOptions) =>
      context.runOnLeads({ isNewAllowed: true }, (session) => importProfiles(session, files, options)),
    );
  addExamples(importing, [
    'causeway leads import profiles.csv',
    'causeway leads import january.parquet february.jsonl.gz --replace --max-rejected 1%',
    'causeway leads import dump.csv --column username=handle --column followers=fans --delimiter ";"',
    'causeway leads import --format jsonl - --json',
  ]);
  importing.addHelpText('after', fieldsHelp);
};
