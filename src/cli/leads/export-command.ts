import { Option, type Command } from 'commander';
import type { Lead } from '../../leads/lead-source.ts';
import { leadFields } from '../../leads/lead-fields.ts';
import type { Answer, CommandContext } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { csvLine } from '../csv-line.ts';
import { addExamples } from '../examples.ts';
import { countOf } from './figures.ts';
import { placeOption } from './place-option.ts';
import type { LeadPlaceName } from './place.ts';
import type { LeadSession } from './session.ts';
import { writeNewFile } from '../write-new-file.ts';

const formats = ['jsonl', 'csv'] as const;
type ExportFormat = (typeof formats)[number];

/** So many characters are written at once. */
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

/** Writes as fast as it is taken, so that memory stays flat; answers how many profiles there were. */
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

/** Why there may be none. */
const remarkOn = async ({ keeper }: LeadSession, count: number): Promise<string> =>
  count === 0 && (await keeper.stats()).synthetic
    ? '0 profiles: there are only generated ones here, which are not exported.'
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
  return {
    json: { profiles: count },
    text: null,
    ...(session.isReaderGone() ? {} : { remark: await remarkOn(session, count) }),
  };
};

/** Adds `leads export`. */
export const addLeadExportCommand = (leads: Command, context: CommandContext): void => {
  const exporting = leads
    .command('export')
    .summary('write all profiles as JSON Lines or CSV')
    .description(
      'Writes all profiles as they stand when it begins, most followers first. JSON Lines is what "leads import" takes ' +
        'again, as it was. CSV is for spreadsheets: a field that one would take for a formula begins with an apostrophe. ' +
        'Without --output, the lines go to stdout. Generated profiles are not exported.',
    )
    .option('--output <file>', 'write to this new file, which only you can read')
    .addOption(new Option('--format <format>', 'how to write').choices(formats).default('jsonl'))
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
