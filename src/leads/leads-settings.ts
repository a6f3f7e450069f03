import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { postgresUrl, wholeNumber } from '../kit/variables.ts';
import {
  apifySettings,
  httpSettings,
  longestSearchMs,
  readApify,
  readHttp,
  type ApifyLeadsConfig,
  type HttpLeadsConfig,
} from './upstream/upstream-settings.ts';

export type { ApifyLeadsConfig, HttpLeadsConfig, LeadFieldPointers } from './upstream/upstream-settings.ts';

/** Where searches are answered from. */
export interface LeadsConfig {
  /** In the order in which they are asked, each kind once; none where the search is switched off. */
  sources: LeadSourceConfig[];
  /** For one search, all sources together. */
  timeoutMs: number;
  /** How long a page of results is kept; 0: not at all. */
  cacheMs: number;
}

export type LeadSourceConfig = EmbeddedLeadsConfig | PostgresLeadsConfig | HttpLeadsConfig | ApifyLeadsConfig;
export type LeadSourceKind = LeadSourceConfig['kind'];

export interface EmbeddedLeadsConfig {
  kind: 'embedded';
  timeoutMs: number;
}

export interface PostgresLeadsConfig {
  kind: 'postgres';
  url: string;
  timeoutMs: number;
}

const sourceKinds = ['embedded', 'postgres', 'http', 'apify'] as const satisfies LeadSourceKind[];

/** The environment variables of leads. */
export const leadsEnvironment = {
  LEADS_SOURCES: z
    .string()
    .transform((text) => (text === 'none' ? [] : text.split(',').map((part) => part.trim())))
    .pipe(z.array(z.enum(sourceKinds, `must be of ${sourceKinds.join(', ')}, divided by commas, or none`)))
    .refine((kinds) => new Set(kinds).size === kinds.length, 'names a source twice')
    .prefault('embedded')
    .describe(
      'sources of searches in this order: `embedded`, `postgres`, `http`, `apify`, divided by commas; ' +
        '`none` switches the search off; see [The sources of leads](#the-sources-of-leads)',
    ),
  LEADS_DATABASE_URL: postgresUrl
    .optional()
    .describe('database of the source `postgres`, `DATABASE_URL` when unset'),
  LEADS_TIMEOUT_MS: wholeNumber(100, longestSearchMs, 10_000).describe(
    'how long a search may take in all sources together, 100 to 120000',
  ),
  LEADS_CACHE_SECONDS: wholeNumber(0, 86_400, 60).describe(
    'how long a page of results is kept, 0 to 86400; 0 keeps none',
  ),
  APIFY_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{1,512}$/, 'must be one word')
    .optional()
    .describe('token for the source `apify`, sent to `leads.apify.base_url` alone'),
};

/** The section `leads` of causeway.yaml. */
export const leadsFileSchema = z
  .strictObject({ http: httpSettings.optional(), apify: apifySettings.optional() })
  .default({});

type Environment = z.infer<z.ZodObject<typeof leadsEnvironment>> & {
  DATABASE_URL?: string | undefined;
  SEARCH_MAX_LIMIT: number;
};
type FileSettings = z.infer<typeof leadsFileSchema>;

export interface LeadsSettings {
  /** The environment, checked. */
  settings: Environment;
  file: FileSettings;
  /** The environment as it is, for `${NAME}`. */
  variables: Record<string, string | undefined>;
}

/** Throws ConfigError with one line that names the setting. */
export const readLeads = ({ settings, file, variables }: LeadsSettings): LeadsConfig => {
  const kinds = settings.LEADS_SOURCES;
  refuseIdle(kinds, file);
  const timeoutMs = settings.LEADS_TIMEOUT_MS;
  const shareMs = Math.floor(timeoutMs / kinds.length);

  const timeoutOf = (kind: 'http' | 'apify'): number => {
    const ownMs = file[kind]?.timeout_ms ?? shareMs;
    if (ownMs > timeoutMs)
      throw new ConfigError(
        `causeway.yaml: leads.${kind}.timeout_ms: must not be above LEADS_TIMEOUT_MS, which is ${timeoutMs}`,
      );
    return ownMs;
  };

  const readSource = (kind: LeadSourceKind): LeadSourceConfig => {
    switch (kind) {
      case 'embedded':
        return { kind, timeoutMs: shareMs };
      case 'postgres':
        return { kind, timeoutMs: shareMs, url: readDatabaseUrl(settings) };
      case 'http':
        return readHttp(required(file.http, kind), {
          timeoutMs: timeoutOf(kind),
          mostLimit: settings.SEARCH_MAX_LIMIT,
          variables,
        });
      case 'apify':
        return readApify(required(file.apify, kind), {
          timeoutMs: timeoutOf(kind),
          token: settings.APIFY_TOKEN ?? null,
          variables,
        });
    }
  };
  return { sources: kinds.map(readSource), timeoutMs, cacheMs: settings.LEADS_CACHE_SECONDS * 1_000 };
};

/** A section that is used by nothing is a mistake: the operator believes that it is used. */
const refuseIdle = (kinds: readonly LeadSourceKind[], file: FileSettings): void => {
  const idle = (['http', 'apify'] as const).find((kind) => file[kind] !== undefined && !kinds.includes(kind));
  if (idle !== undefined)
    throw new ConfigError(`causeway.yaml: leads.${idle}: LEADS_SOURCES does not name ${idle}`);
};

const required = <T>(section: T | undefined, kind: LeadSourceKind): T => {
  if (section !== undefined) return section;
  throw new ConfigError(`LEADS_SOURCES: names ${kind}, and causeway.yaml has no leads.${kind}`);
};

const readDatabaseUrl = (settings: Environment): string => {
  const url = settings.LEADS_DATABASE_URL ?? settings.DATABASE_URL;
  if (url !== undefined) return url;
  throw new ConfigError('LEADS_DATABASE_URL: must be set (or DATABASE_URL) for LEADS_SOURCES with postgres');
};
