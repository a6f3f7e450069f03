import { z } from 'zod';
import type { ColumnMap } from '../../leads/import/input-options.ts';
import { LeadInputError } from '../../leads/import/lead-input-error.ts';
import {
  readColumn,
  readDefault,
  readDelimiter,
  readRejectedLimit,
} from '../../leads/import/read-options.ts';
import type { LeadDefaults } from '../../leads/lead-fields.ts';
import { inGateway, operatorWrite } from '../operator-operation.ts';
import { importSchema, toImportView } from './import-view.ts';

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

export const importLeads = operatorWrite({
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
  output: z.strictObject({ import: importSchema }),
  answer: 'LeadImport',
  example: {
    input: { format: 'csv', max_rejected: '5%' },
    answer: {
      import: {
        place: 'embedded',
        mode: 'upsert',
        rows: 5_000,
        added: 4_900,
        updated: 100,
        removed: 0,
        repeated: 0,
        forgotten: 0,
        rejected: 1,
        unknown_countries: 1,
        profiles: 124_900,
        duration_ms: 900,
        rows_per_second: 5_556,
        report: null,
        first_rejected: [{ file: '-', line: 17, problem: 'followers must be a whole number.' }],
        first_unknown_countries: ['"Atlantis"'],
      },
    },
  },
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
    return { import: toImportView({ ...imported, place, report: null }) };
  },
});
