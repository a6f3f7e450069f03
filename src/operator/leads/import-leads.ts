import { z } from 'zod';
import { LeadInputError } from '../../leads/import/lead-input-error.ts';
import {
  readColumn,
  readDefault,
  readDelimiter,
  readRejectedLimit,
} from '../../leads/import/read-options.ts';
import type { LeadDefaults } from '../../leads/lead-fields.ts';
import type { ColumnMap, InputProgress, RejectedRow } from '../../leads/import/input-options.ts';
import type { ImportedProfiles } from '../../leads/lead-keeper.ts';
import type { StoreSettings } from '../../store/store-settings.ts';
import { inGateway, writeVerb } from '../verb.ts';
import { defineView } from '../view.ts';
import { placeName, placeSchema } from './leads.ts';

interface EndedImport extends ImportedProfiles {
  place: Pick<StoreSettings, 'databaseUrl'>;
  input: Pick<InputProgress, 'rejected' | 'unknownCountries'>;
  firstRejected: readonly RejectedRow[];
  report: string | null;
}

const count = z.int();

export const importView = defineView<EndedImport>({
  removed: 'Profiles that `replace` dropped; null: not known.',
  repeated: 'Rows that a later row with the same username replaced.',
  forgotten: 'Rows of people who asked to be forgotten.',
  unknown_countries: 'Rows whose country is not known. They are imported without it.',
  profiles: 'How many there are now.',
  report: 'The file with all rejected rows; only on the command line.',
})({
  place: [placeSchema, ({ place }) => placeName(place), 'embedded'],
  mode: [z.enum(['upsert', 'replace']), 'mode', 'upsert'],
  rows: [count, ({ outcome }) => outcome.rows, 5_000],
  added: [count, ({ outcome }) => outcome.added, 4_900],
  updated: [count, ({ outcome }) => outcome.updated, 100],
  removed: [count.nullable(), ({ outcome }) => outcome.removed, 0],
  repeated: [count, ({ outcome }) => outcome.repeated, 0],
  forgotten: [count, ({ outcome }) => outcome.forgotten, 0],
  rejected: [count, ({ input }) => input.rejected, 1],
  unknown_countries: [count, ({ input }) => input.unknownCountries.rows, 1],
  profiles: [count, ({ outcome }) => outcome.profiles, 124_900],
  duration_ms: [count, 'durationMs', 900],
  rows_per_second: [
    count.nullable(),
    ({ outcome, durationMs }) => (durationMs === 0 ? null : Math.round((outcome.rows / durationMs) * 1_000)),
    5_556,
  ],
  report: [z.string().nullable(), 'report', null],
  first_rejected: [
    z.array(z.strictObject({ file: z.string(), line: count, problem: z.string() })),
    ({ firstRejected }) => firstRejected.map(({ file, line, problem }) => ({ file, line, problem })),
    [{ file: '-', line: 17, problem: 'followers must be a whole number.' }],
  ],
  first_unknown_countries: [
    z.array(z.string()),
    ({ input }) => [...input.unknownCountries.first],
    ['"Atlantis"'],
  ],
});

const maxLength = 200;

/** Reads a text, or several, as the command line does. */
const readWith = <T>(read: (text: string, before: T | undefined) => T) =>
  z
    .union([z.string().max(maxLength), z.array(z.string().max(maxLength)).max(50)])
    .transform((given, context): T => {
      try {
        const [first = '', ...others] = [given].flat();
        return others.reduce((before: T, text) => read(text, before), read(first, undefined));
      } catch (error) {
        if (!(error instanceof LeadInputError)) throw error;
        context.addIssue({ code: 'custom', message: error.message });
        return z.NEVER;
      }
    });

export const importLeads = writeVerb({
  name: 'import_leads',
  title: 'Import profiles',
  description:
    'Imports the profiles in the body of the request, CSV or JSON Lines, plain or compressed with gzip or zstd, while it ' +
    'comes. The first bytes tell the form; the Content-Type may be missing, and another than those below gets 415. ' +
    'Searches see all of them at once, at the end. A body that breaks off changes nothing. Rows without a valid ' +
    'profile are left out and counted, and so are forgotten people; if more than 1% are not valid, nothing is imported. ' +
    'Large files are for `causeway leads import`, which may take longer than five minutes.',
  group: 'leads',
  path: '/leads/import',
  accepts: ['text/csv', 'application/x-ndjson', 'application/octet-stream'],
  fields: {
    replace: z.boolean().default(false).describe('Drop all profiles that the body does not name.'),
    format: z.enum(['csv', 'jsonl']).optional().describe('By default the first bytes tell.'),
    column: readWith<ColumnMap>(readColumn)
      .optional()
      .describe('Reads a field from another column, as `followers=fans`. Repeat it for several fields.'),
    default: readWith<LeadDefaults>(readDefault)
      .optional()
      .describe('The value of a field for rows without it, as `following=0`. Repeat it for several fields.'),
    delimiter: readWith(readDelimiter).optional().describe('The character between columns of CSV, or `tab`.'),
    header: z.boolean().default(true).describe('False: the first line of CSV is a row.'),
    max_rejected: readWith(readRejectedLimit)
      .optional()
      .describe('Change nothing if more rows are rejected: a number, or a share such as `5%`. Default: 1%.'),
  },
  output: z.strictObject({ import: importView.schema }),
  answer: 'LeadImport',
  example: { format: 'csv', max_rejected: '5%' },
  errors: [
    'input_failed',
    'too_many_rejected',
    'nothing_imported',
    'leads_busy',
    'leads_damaged',
    'leads_failed',
    'overloaded',
  ],
  handle: async ({ replace, format, column, header, max_rejected: maxRejected, ...given }, services) => {
    const { body, leads } = inGateway(services);
    const { desk, place } = leads;
    const imported = await desk.importStream(
      {
        mode: replace ? 'replace' : 'upsert',
        format,
        columns: column,
        defaults: given.default,
        delimiter: given.delimiter,
        hasHeader: header,
        maxRejected,
      },
      body,
    );
    return { import: importView.show({ ...imported, place, report: null }) };
  },
});
