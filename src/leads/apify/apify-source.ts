import { z } from 'zod';
import { ConfigError } from '../../kit/errors.ts';
import type { Json } from '../../kit/json.ts';
import { plainUrl } from '../../kit/url-settings.ts';
import { secret } from '../../kit/variables.ts';
import type { LeadSourceDefinition, LeadSourceOrigin } from '../lead-source-definition.ts';
import { readJsonTemplate, type Template } from '../upstream/query-template.ts';
import {
  filteredRows,
  readUpstream,
  refuseUnsentWords,
  upstreamSettings,
  type UpstreamLeadsConfig,
} from '../upstream/upstream-settings.ts';

/** An actor of apify.com, run for each search. */
export interface ApifyLeadsConfig extends UpstreamLeadsConfig {
  kind: 'apify';
  /** Without a trailing slash. */
  baseUrl: string;
  token: string;
  /** An id, or `owner~name`. */
  actor: string;
  input: Template<Json>;
  templates: Template<Json>[];
  /** The highest cost of one run; null: the limit in the actor's own settings. */
  maxChargeUsd: number | null;
}

const section = z.strictObject({
  actor: z
    .string()
    .regex(/^[\w.-]{1,100}(?:[~/][\w.-]{1,100})?$/, 'must be the id of an actor, or owner~name')
    .transform((actor) => actor.replace('/', '~'))
    .describe('actor, by its id or as `owner/name`'),
  input: z
    .record(z.string(), secret(z.json()))
    .default({})
    .describe('input of a run, with places as in `parameters`'),
  base_url: plainUrl.prefault('https://api.apify.com').describe('address of the service'),
  max_charge_usd: z
    .number()
    .positive()
    .max(1_000)
    .optional()
    .describe('highest cost of one run; the limit in the actor’s settings when unset'),
  filtered_rows: filteredRows.describe(
    '`{limit}` is at least this where a filter of the search is not sent; 1 when unset, as rows cost money',
  ),
  ...upstreamSettings,
});

export const apifySource: LeadSourceDefinition<ApifyLeadsConfig> = {
  kind: 'apify',
  text: 'an actor of apify.com, run for each search',
  variables: {
    APIFY_TOKEN: secret(z.string().regex(/^[\x21-\x7e]{1,512}$/, 'must be one word'))
      .optional()
      .describe('token for the source `apify`, sent in a header to `leads.apify.base_url` alone'),
  },
  section,
  read: (given: z.output<typeof section>, origin: LeadSourceOrigin<{ APIFY_TOKEN?: string }>) => {
    const { APIFY_TOKEN: token } = origin.values;
    if (token === undefined) throw new ConfigError('APIFY_TOKEN: must be set for LEADS_SOURCES with apify');
    const setting = 'causeway.yaml: leads.apify';
    const { environment } = origin;
    const input = readJsonTemplate(given.input, { setting: `${setting}.input`, environment });
    if (!input.fields.includes('query')) refuseUnsentWords(given.words, { setting, where: 'input' });
    return {
      kind: 'apify',
      ...readUpstream(given, { ...origin, setting }),
      filteredRows: given.filtered_rows ?? 1,
      baseUrl: given.base_url,
      token,
      actor: given.actor,
      input,
      templates: [input],
      maxChargeUsd: given.max_charge_usd ?? null,
    };
  },
  open: async (config, { log }) => {
    const { createApifyLeads } = await import('./apify-leads.ts');
    return createApifyLeads(config, { log });
  },
};
