import { Argument, InvalidArgumentError, Option } from 'commander';
import { LeadInputError, type InputFormat } from '../../leads/import/input-options.ts';
import {
  readColumn,
  readDefault,
  readDelimiter,
  readRejectedLimit,
} from '../../leads/import/read-options.ts';
import type { LeadCommandDefinition } from '../command-definition.ts';
import { importFiles, type ImportOptions } from './import-files.ts';

const inputFormats = ['csv', 'jsonl', 'parquet'] as const satisfies readonly InputFormat[];

/** Makes a reader of an option that refuses as commander does. */
const reading =
  <T>(read: (text: string, before?: T) => T) =>
  (text: string, before?: T): T => {
    try {
      return read(text, before);
    } catch (error) {
      throw error instanceof LeadInputError ? new InvalidArgumentError(error.message) : error;
    }
  };

export const fieldsHelp = `
Fields: username, followers, full_name, following, is_verified, is_business (required; --default can set the last
four), category, bio, public_email, media_count, gender (male, female), profile_pic_url, country (code or name), city.
Columns are found by these names and common others (handle, followers_count, biography, ...); --column names any
other column, by its name, its number (#3), or its path in a JSON object (/owner/username).`;

/** The options of commands that read files of profiles. */
export const readingOptions: readonly Option[] = [
  new Option('--column <field=column>', 'read a field from this column; can be repeated').argParser(
    reading(readColumn),
  ),
  new Option(
    '--default <field=value>',
    'value of full_name, following, is_verified or is_business for rows without it; can be repeated',
  ).argParser(reading(readDefault)),
  new Option(
    '--delimiter <character>',
    'character between columns of CSV, or tab (default: detected)',
  ).argParser(reading(readDelimiter)),
  new Option('--no-header', 'the first line of CSV is a row; --column names columns by number, as #1'),
  new Option(
    '--max-rejected <count>',
    'fail if more rows are rejected: a number, or a share such as 5% (default: 1%)',
  ).argParser(reading(readRejectedLimit)),
];

export const importCommand: LeadCommandDefinition<[files: string[], ImportOptions]> = {
  words: 'leads import',
  summary: 'import profiles from files',
  description:
    'Imports profiles from CSV, JSON Lines and Parquet files, also compressed with gzip or zstd; "-" is standard ' +
    'input. A profile with a known username is replaced, others are added. Searches see the whole import at its ' +
    'end; one that is stopped changes nothing. Invalid rows are left out, and written with their line numbers to a ' +
    'new file beside the first one; if they are more than 1%, nothing is imported. Forgotten people are left out too.',
  examples: [
    'causeway leads import profiles.csv',
    'causeway leads import january.parquet february.jsonl.gz --replace --max-rejected 5%',
    'causeway leads import dump.csv --column username=handle --column followers=fans --delimiter ";"',
    'causeway leads import --format jsonl - --json',
  ],
  appendix: fieldsHelp,
  arguments: [new Argument('<file...>', 'files, read one after the other')],
  options: [
    new Option('--format <format>', 'format of the files (default: by their names and contents)').choices(
      inputFormats,
    ),
    ...readingOptions,
    new Option('--replace', 'drop all profiles that the files do not name'),
    new Option('--rejected <file>', 'write rejected rows to this new file, as CSV'),
  ],
  isNewAllowed: true,
  runOnLeads: importFiles,
};
