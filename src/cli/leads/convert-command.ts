import { Argument, Option, type Command } from 'commander';
import type { RejectedRow } from '../../leads/import/input-options.ts';
import { categoryKey, countryKey } from '../../leads/query/lead-filters.ts';
import { leadTerms } from '../../leads/query/lead-terms.ts';
import { usernameKey } from '../../leads/query/username-key.ts';
import type { Lead } from '../../leads/lead-source.ts';
import type { LeadCommandDefinition } from '../command-definition.ts';
import { exportRows } from '../export-rows.ts';
import { countOf } from './figures.ts';
import { describeLeftOut } from './import-answer.ts';
import { fieldsHelp, readingOptions } from './import-command.ts';
import { maxShown, toInputOptions, type ReadingOptions } from './import-files.ts';

interface ConvertOptions extends ReadingOptions {
  format: 'bulk';
  index?: string;
  output?: string;
}

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

export const convertCommand: LeadCommandDefinition<[string[], ConvertOptions, Command]> = {
  words: 'leads convert',
  summary: 'write profiles for OpenSearch or Elasticsearch',
  description:
    'Reads profiles as "leads import" does, and writes them as lines of the bulk API of OpenSearch and ' +
    'Elasticsearch, with the terms that searches compare (see "OpenSearch and Elasticsearch" in ' +
    'docs/operators-profiles.md). It imports nothing. Forgotten people are left out. Without --output, the lines go ' +
    'to stdout.',
  examples: [
    'causeway leads convert profiles.parquet --format bulk --output profiles.ndjson',
    'causeway leads convert profiles.csv --format bulk --index people-2 | head -2',
  ],
  appendix: fieldsHelp,
  arguments: [new Argument('<file...>', 'files, read one after the other')],
  options: [
    new Option('--format <format>', 'the format').choices(['bulk']).makeOptionMandatory(),
    new Option('--index <name>', 'name the index in each line'),
    new Option('--output <file>', 'write to this new file, which only you can read'),
    ...readingOptions,
  ],
  runOnLeads: async (session, files, options, command) => {
    const { keeper, stdin, isReaderGone, writePart, tell } = session;
    const firstRejected: RejectedRow[] = [];
    const { openLeadInput } = await import('../../leads/import/open-lead-input.ts');
    const input = await openLeadInput({
      ...toInputOptions(files, options, stdin),
      onRejected: (rows) => void firstRejected.push(...rows.slice(0, maxShown - firstRejected.length)),
    });
    const { signal } = new AbortController();
    try {
      return await exportRows('profiles', {
        command,
        writePart,
        writeRows: async (write) => {
          let count = 0;
          for await (const leads of input.read({ signal })) {
            const names = leads.map(({ username }) => username);
            const left = await keeper.findForgotten(names, { signal });
            const written = leads.filter(({ username }) => !left.has(username));
            await write(written.map((lead) => bulkLines(lead, options.index)).join(''));
            count += written.length;
            if (options.output === undefined && isReaderGone()) break;
          }
          return count;
        },
        describe: (count) => `${countOf(count, 'profile')}.`,
      });
    } finally {
      const leftOut = describeLeftOut({ input: input.progress(), firstRejected, report: null });
      if (leftOut !== undefined) tell(leftOut);
    }
  },
};
