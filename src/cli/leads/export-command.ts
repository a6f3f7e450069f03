import { Option, type Command } from 'commander';
import { leadFields } from '../../leads/lead-fields.ts';
import type { Lead } from '../../leads/lead-source.ts';
import type { Answer, CommandContext, LeadSession } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { addExamples } from '../examples.ts';
import { csvLine } from '../format-table.ts';
import { writeNewFile } from '../write-new-file.ts';
import { countOf } from './figures.ts';
import { placeOption, type LeadPlaceName } from './place.ts';

const formats = ['jsonl', 'csv'] as const;
type ExportFormat = (typeof formats)[number];

/** The length of one write. */
const writtenCharacters = 65_536;

interface ExportOptions {
  output?: string;
  format: ExportFormat;
  to?: LeadPlaceName;
}

const toLine: Record<ExportFormat, (lead: Lead) => string> = {
  jsonl: (lead) => `${JSON.stringify(lead)}\n`,
  csv: (lead) => csvLine(leadFields.map((field) => String(lead[field] ?? ''))),
};

/** Writes as fast as the reader reads, so that memory stays flat. Resolves with the number of profiles. */
const writeLines = async (
  { keeper, isReaderGone }: Pick<LeadSession, 'keeper' | 'isReaderGone'>,
  format: ExportFormat,
  write: (text: string) => Promise<void>,
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
const remarkOn = async ({ keeper }: LeadSession, count: number): Promise<string> =>
  count === 0 && (await keeper.stats()).synthetic
    ? '0 profiles: there are only generated ones, which are not exported.'
    : `${countOf(count, 'profile')}.`;

const exportProfiles = async (
  session: LeadSession,
  { output, format }: ExportOptions,
  isJson: boolean,
): Promise<Answer> => {
  if (output !== undefined) {
    const count = await writeNewFile(output, (write) =>
      writeLines({ ...session, isReaderGone: () => false }, format, write),
    );
    return {
      json: { file: output, profiles: count },
      text: `${output}: ${await remarkOn(session, count)}`,
    };
  }
  if (isJson)
    throw new CommandError('invalid_usage', 'With --json, name a file for the profiles: --output FILE.');
  const count = await writeLines(session, format, session.writePart);
  const remark = session.isReaderGone() ? undefined : await remarkOn(session, count);
  return { json: { profiles: count }, text: null, remark };
};

/** Adds `leads export`. */
export const addLeadExportCommand = (leads: Command, context: CommandContext): void => {
  const exporting = leads
    .command('export')
    .summary('write all profiles as JSON Lines or CSV')
    .description(
      'Writes all profiles as they are at its beginning, most followers first. "leads import" reads JSON Lines back ' +
        'unchanged. CSV is for spreadsheets: a field that one would take for a formula begins with an apostrophe. ' +
        'Without --output, the lines go to stdout. Generated profiles are not exported.',
    )
    .option('--output <file>', 'write to this new file, which only you can read')
    .addOption(new Option('--format <format>', 'the format').choices(formats).default('jsonl'))
    .addOption(placeOption())
    .action((options: ExportOptions, command: Command) =>
      context.runOnLeads({ to: options.to }, (session) =>
        exportProfiles(session, options, command.optsWithGlobals<{ json?: true }>().json === true),
      ),
    );
  addExamples(exporting, [
    'causeway leads export --output profiles.jsonl',
    'causeway leads export --format csv | head',
    'causeway leads export | zstd > profiles.jsonl.zst',
  ]);
};
