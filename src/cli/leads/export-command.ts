import { Option, type Command } from 'commander';
import { leadFields } from '../../leads/lead-fields.ts';
import type { LeadIndex } from '../../leads/lead-index.ts';
import type { Lead } from '../../leads/lead-source.ts';
import type { LeadSession } from '../command-context.ts';
import type { LeadCommandDefinition } from '../command-definition.ts';
import { exportRows } from '../export-rows.ts';
import { csvLine } from '../csv-line.ts';
import type { Write } from '../write-new-file.ts';
import { countOf } from './figures.ts';

const formats = ['jsonl', 'csv'] as const;
type ExportFormat = (typeof formats)[number];

const writtenCharacters = 65_536;

interface ExportOptions {
  output?: string;
  format: ExportFormat;
}

const toLine: Record<ExportFormat, (lead: Lead) => string> = {
  jsonl: (lead) => `${JSON.stringify(lead)}\n`,
  csv: (lead) => csvLine(leadFields.map((field) => String(lead[field] ?? ''))),
};

/** Writes as fast as the reader reads, so that memory stays flat. Resolves with the number of profiles. */
const writeRows = async (
  { keeper, isReaderGone }: Pick<LeadSession, 'keeper' | 'isReaderGone'>,
  format: ExportFormat,
  write: Write,
): Promise<number> => {
  let text = format === 'csv' ? csvLine(leadFields) : '';
  let count = 0;
  for await (const lead of keeper.exportLeads({ signal: new AbortController().signal })) {
    text += toLine[format](lead);
    count += 1;
    if (text.length < writtenCharacters) continue;
    await write(text);
    text = '';
    if (isReaderGone()) return count;
  }
  await write(text);
  return count;
};

/** Says the number of profiles, and why there may be none. */
const describeCount = async (keeper: LeadIndex, count: number): Promise<string> =>
  count === 0 && (await keeper.stats()).synthetic
    ? '0 profiles: there are only generated ones, which are not exported.'
    : `${countOf(count, 'profile')}.`;

export const exportCommand: LeadCommandDefinition<[ExportOptions, Command]> = {
  words: 'leads export',
  summary: 'write all profiles as JSON Lines or CSV',
  description:
    'Writes all profiles as they are at its beginning, most followers first. "leads import" reads JSON Lines back ' +
    'unchanged. CSV is for spreadsheets: a field that one would take for a formula begins with an apostrophe. ' +
    'Without --output, the lines go to stdout. Generated profiles are not exported.',
  examples: [
    'causeway leads export --output profiles.jsonl',
    'causeway leads export --format csv | head',
    'causeway leads export | zstd > profiles.jsonl.zst',
  ],
  options: [
    new Option('--output <file>', 'write to this new file, which only you can read'),
    new Option('--format <format>', 'the format').choices(formats).default('jsonl'),
  ],
  runOnLeads: (session, { format, output }, command) => {
    const { keeper, writePart } = session;
    const isReaderGone = output === undefined ? session.isReaderGone : () => false;
    return exportRows('profiles', {
      command,
      writePart,
      writeRows: (write) => writeRows({ keeper, isReaderGone }, format, write),
      describe: async (count) => (isReaderGone() ? undefined : describeCount(keeper, count)),
    });
  },
};
