import { z } from 'zod';
import type { RejectedRow } from '../../leads/import/input-options.ts';
import { leadFields } from '../../leads/lead-fields.ts';
import type { Lead } from '../../leads/lead-source.ts';
import { categoryKey, countryKey } from '../../leads/query/lead-filters.ts';
import { leadTerms } from '../../leads/query/lead-terms.ts';
import { usernameKey } from '../../leads/query/fold-text.ts';
import { csvLine } from '../../kit/csv.ts';
import { exportRows } from '../export-rows.ts';
import { toCommand } from '../form-command.ts';
import { countOf } from './figures.ts';
import {
  describeLeftOut,
  fieldsHelp,
  maxShown,
  filesFields,
  readingUsage,
  toInputOptions,
} from './import-command.ts';

const writtenCharacters = 65_536;

const output = z.string().optional().describe('Write to this new file, which only you can read.');

const toLine = {
  jsonl: (lead: Lead) => `${JSON.stringify(lead)}\n`,
  csv: (lead: Lead) => csvLine(leadFields.map((field) => String(lead[field] ?? ''))),
};

export const exportCommand = toCommand({
  usage: 'leads export [--output <file>] [--format <format>]',
  title: 'Write all profiles as JSON Lines or CSV',
  description:
    'Writes all profiles as they are at its beginning, most followers first. "leads import" reads JSON Lines back ' +
    'unchanged. CSV is for spreadsheets: a field that one would take for a formula begins with an apostrophe. ' +
    'Without --output, the lines go to stdout. Generated profiles are not exported.',
  fields: { output, format: z.enum(['jsonl', 'csv']).default('jsonl').describe('The format.') },
  example: { output: 'profiles.jsonl' },
  examples: ['--format csv | head', '| zstd > profiles.jsonl.zst'],
  run: async (session, { format = 'jsonl', output }) => {
    const { keeper } = await session.openProfiles();
    const isReaderGone = output === undefined ? session.isReaderGone : () => false;
    return exportRows('profiles', output, session, {
      // As fast as the reader reads, so that memory stays flat.
      writeRows: async (write) => {
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
      },
      describe: async (count) => {
        if (isReaderGone()) return undefined;
        return count === 0 && (await keeper.stats()).synthetic
          ? '0 profiles: there are only generated ones, which are not exported.'
          : `${countOf(count, 'profile')}.`;
      },
    });
  },
});

/**
 * Makes the two lines that store one profile by the bulk API of OpenSearch and Elasticsearch. The id is that of the
 * person, so a later profile of the same person replaces the earlier one. `terms`, `country_key` and `category_key` are
 * the values that `{terms}`, `{country}` and `{category_key}` of `leads.http` are compared with.
 */
const bulkLines = (lead: Lead, index: string | undefined): string => {
  const { username, country, category } = lead;
  const action = { index: { ...(index === undefined ? {} : { _index: index }), _id: usernameKey(username) } };
  const document = {
    ...lead,
    terms: [...leadTerms(lead)],
    ...(country === undefined ? {} : { country_key: countryKey(country) }),
    ...(category === undefined ? {} : { category_key: categoryKey(category) }),
  };
  return `${JSON.stringify(action)}\n${JSON.stringify(document)}\n`;
};

const convertFields = {
  ...filesFields,
  format: z.enum(['bulk']).describe('The format.'),
  index: z.string().optional().describe('Name the index in each line.'),
  output,
};

export const convertCommand = toCommand({
  usage: `leads convert <file...> --format <format> [--index <name>] [--output <file>] ${readingUsage}`,
  title: 'Write profiles for OpenSearch or Elasticsearch',
  description:
    'Reads profiles as "leads import" does, and writes them as lines of the bulk API of OpenSearch and ' +
    'Elasticsearch, with the terms that searches compare (see "OpenSearch and Elasticsearch" in ' +
    'deploy/leads/README.md). It imports nothing. Forgotten people are left out. Without --output, the lines go ' +
    'to stdout.',
  fields: convertFields,
  example: { files: ['profiles.parquet'], format: 'bulk', output: 'profiles.ndjson' },
  examples: ['profiles.csv --format bulk --index people-2 | head -2'],
  appendix: fieldsHelp,
  run: async (session, given) => {
    const { keeper } = await session.openProfiles();
    const options = z.object(convertFields).parse(given);
    const { index, output } = options;
    const firstRejected: RejectedRow[] = [];
    const { openLeadInput } = await import('../../leads/import/open-lead-input.ts');
    const input = await openLeadInput({
      ...toInputOptions(options, session),
      onRejected: (rows) => void firstRejected.push(...rows.slice(0, maxShown - firstRejected.length)),
    });
    const { signal } = new AbortController();
    try {
      return await exportRows('profiles', output, session, {
        writeRows: async (write) => {
          let count = 0;
          for await (const leads of input.read({ signal })) {
            const names = leads.map(({ username }) => username);
            const left = await keeper.findForgotten(names, { signal });
            const written = leads.filter(({ username }) => !left.has(username));
            await write(written.map((lead) => bulkLines(lead, index)).join(''));
            count += written.length;
            if (output === undefined && session.isReaderGone()) break;
          }
          return count;
        },
        describe: (count) => `${countOf(count, 'profile')}.`,
      });
    } finally {
      const leftOut = describeLeftOut({ input: input.progress(), firstRejected, report: null });
      if (leftOut !== undefined) session.tell(leftOut);
    }
  },
});
