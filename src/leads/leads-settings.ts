import { z } from 'zod';
import type { S3Values } from '../http/s3/s3-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import { commaList, wholeNumber } from '../kit/settings.ts';
import { httpSection, maxSearchMs, readHttpSource, type HttpLeadsConfig } from './upstream/http-source.ts';

/** `costsMoney`: the operator may pay for each search. */
export type LeadSourceConfig = { kind: 'embedded'; timeoutMs: number; costsMoney: false } | HttpLeadsConfig;

export interface LeadsConfig {
  /** In the order in which they are asked, each kind once; none where the search is switched off. */
  sources: LeadSourceConfig[];
  /** The longest search in all sources together. */
  timeoutMs: number;
  /** How long a page of results is kept; 0: not at all. */
  cacheMs: number;
}

const kinds = ['embedded', 'http'] as const;
const httpText = 'an HTTP service that answers JSON, asked for each search';

/** The environment variables of leads. */
export const leadsVariables = {
  LEADS_SOURCES: commaList
    .transform((named) => (named.join() === 'none' ? [] : named))
    .pipe(z.array(z.enum(kinds, `must be of ${kinds.join(', ')}, divided by commas, or none`)))
    .refine((named) => new Set(named).size === named.length, 'names a source twice')
    .prefault('embedded')
    .describe(
      'sources of searches [in the order of asking](#the-sources-of-leads), divided by commas: `embedded` ' +
        '(the imported profiles), `http`; `none` switches the search off',
    ),
  LEADS_TIMEOUT_MS: wholeNumber(100, maxSearchMs, 10_000).describe(
    'longest search in all sources together, 100 to 120000',
  ),
  LEADS_CACHE_SECONDS: wholeNumber(0, 86_400, 60).describe('how long pages of results are kept, 0 to 86400'),
  LEADS_URL: z
    .string()
    .optional()
    .describe('where an earlier version shared profiles; see [To upgrade](../CHANGELOG.md#to-upgrade)'),
};

/** The place where a fleet of an earlier version shared profiles, with the settings of its bucket. */
export interface FormerPlace {
  url: string;
  values: S3Values;
}

/** Returns the place of `LEADS_URL`; null if it is not set. */
export const readFormerPlace = (values: { LEADS_URL?: string | undefined } & S3Values): FormerPlace | null =>
  values.LEADS_URL === undefined ? null : { url: values.LEADS_URL, values };

export const leadsSection = z
  .strictObject({ http: httpSection.optional().describe(httpText) })
  .default({})
  .describe('services that are searched');

export interface LeadsOrigin {
  values: z.output<z.ZodObject<typeof leadsVariables>>;
  section: z.output<typeof leadsSection>;
  /** The environment for `${NAME}` in causeway.yaml. */
  environment: Record<string, string | undefined>;
  maxLimit: number;
}

/** Throws ConfigError with one line that names the setting. */
export const readLeads = ({ values, section, ...origin }: LeadsOrigin): LeadsConfig => {
  const named = values.LEADS_SOURCES;
  if (section.http !== undefined && !named.includes('http'))
    throw new ConfigError('causeway.yaml: leads.http: LEADS_SOURCES does not name http');
  const totalMs = values.LEADS_TIMEOUT_MS;
  const shareMs = Math.floor(totalMs / named.length);
  const sources = named.map((kind): LeadSourceConfig => {
    if (kind === 'embedded') return { kind, timeoutMs: shareMs, costsMoney: false };
    if (section.http === undefined)
      throw new ConfigError('LEADS_SOURCES: names http, and causeway.yaml has no leads.http');
    return readHttpSource(section.http, { ...origin, totalMs, shareMs });
  });
  return { sources, timeoutMs: totalMs, cacheMs: values.LEADS_CACHE_SECONDS * 1_000 };
};
