import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { commaList, wholeNumber } from '../kit/variables.ts';
import { leadSourceDefinitions, leadSourceOf, type AnyLeadSourceConfig } from './index.ts';
import { formerVariables } from './refuse-old-lists.ts';
import { maxSearchMs } from './upstream/http-source.ts';

export interface LeadsConfig {
  /** In the order in which they are asked, each kind once; none where the search is switched off. */
  sources: AnyLeadSourceConfig[];
  /** The longest search in all sources together. */
  timeoutMs: number;
  /** How long a page of results is kept; 0: not at all. */
  cacheMs: number;
}

const kinds = leadSourceDefinitions.map(({ kind }) => kind);

const sourceVariables: object = Object.assign({}, ...leadSourceDefinitions.map(({ variables }) => variables));

const leftPostgres =
  'profiles in PostgreSQL are no longer searched; export them with the former version of Causeway, name embedded in ' +
  'place of postgres, and import them again (docs/operators-profiles.md, "After an upgrade")';

const leftApify =
  'actors of Apify are asked by the source http; name it in place of apify, and write leads.http as in ' +
  'docs/operators-profiles.md, "Apify"';

/** The environment variables of leads. The types of a source's own variables are known to its `read`. */
export const leadsVariables = {
  LEADS_SOURCES: commaList
    .transform((named) => (named.join() === 'none' ? [] : named))
    .refine((named) => !named.includes('postgres'), leftPostgres)
    .refine((named) => !named.includes('apify'), leftApify)
    .pipe(z.array(z.enum(kinds, `must be of ${kinds.join(', ')}, divided by commas, or none`)))
    .refine((named) => new Set(named).size === named.length, 'names a source twice')
    .prefault('embedded')
    .describe(
      'sources of searches in the order in which they are asked, divided by commas: ' +
        leadSourceDefinitions.map(({ kind, text }) => `\`${kind}\` (${text})`).join(', ') +
        '; `none` switches the search off; see [The sources of leads](#the-sources-of-leads)',
    ),
  LEADS_TIMEOUT_MS: wholeNumber(100, maxSearchMs, 10_000).describe(
    'longest search in all sources together, 100 to 120000',
  ),
  LEADS_CACHE_SECONDS: wholeNumber(0, 86_400, 60).describe(
    'how long a page of results is kept, 0 to 86400; 0 keeps none',
  ),
  ...formerVariables,
  ...sourceVariables,
};

export const leadsSection = z
  .strictObject(
    Object.fromEntries(
      leadSourceDefinitions.flatMap(({ kind, text, section }) =>
        section === null ? [] : [[kind, section.optional().describe(text)]],
      ),
    ),
  )
  .default({})
  .describe('services that are searched, by kind of source');

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
  const unused = kinds.find((kind) => section[kind] !== undefined && !named.includes(kind));
  if (unused !== undefined)
    throw new ConfigError(`causeway.yaml: leads.${unused}: LEADS_SOURCES does not name ${unused}`);
  const totalMs = values.LEADS_TIMEOUT_MS;
  const shareMs = Math.floor(totalMs / named.length);
  const readSource = (kind: AnyLeadSourceConfig['kind']): AnyLeadSourceConfig => {
    const definition = leadSourceOf({ kind });
    if (definition.section !== null && section[kind] === undefined)
      throw new ConfigError(`LEADS_SOURCES: names ${kind}, and causeway.yaml has no leads.${kind}`);
    return definition.read(section[kind] ?? {}, { ...origin, values, totalMs, shareMs });
  };
  return { sources: named.map(readSource), timeoutMs: totalMs, cacheMs: values.LEADS_CACHE_SECONDS * 1_000 };
};
