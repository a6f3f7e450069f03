import { createCache } from '../cache/bounded-cache.ts';
import type { RedisConnection } from '../cache/redis-connection.ts';
import type { Log } from '../kit/log.ts';
import { directAddress, type StoreSettings } from '../store/store-settings.ts';
import { createCachedLeads } from './cached-leads.ts';
import { createCombinedLeads } from './combined-leads.ts';
import { leadSourceOf, type AnyLeadSourceConfig } from './index.ts';
import type { LeadSourceContext, LeadSourceDefinition } from './lead-source-definition.ts';
import { leadsFolder } from './open-lead-keeper.ts';
import type { Leads, LeadSource } from './lead-source.ts';
import type { LeadsConfig } from './leads-settings.ts';
import { refuseOldLists } from './refuse-old-lists.ts';
import { createFindForgotten, createLeadsWithoutForgotten } from './without-forgotten.ts';

export interface OpenLeadsOptions extends Pick<LeadSourceContext, 'payFor' | 'people' | 'sweep'> {
  /** Null keeps pages of results in this process. */
  redis: RedisConnection | null;
  log: Log;
}

interface LeadsSettings extends StoreSettings {
  leads: LeadsConfig;
  search: { syntheticProfiles: number };
}

/** Of each source. */
const maxCacheEntries = 500;

/**
 * Opens the configured sources in their order, with a cache. Sources that are not configured are not loaded. Rejects
 * when a source cannot be opened at all; one that cannot answer yet is opened, and not ready.
 */
export const openLeads = async (
  { leads, search, ...place }: LeadsSettings,
  { redis, log, payFor, people, sweep }: OpenLeadsOptions,
): Promise<Leads> => {
  refuseOldLists(place.dataDir);
  const isAlone = leads.sources.length === 1;
  const sources = await openSources(leads.sources, {
    folder: leadsFolder(place.dataDir),
    databaseUrl: directAddress(place),
    people,
    sweep,
    isAlone,
    syntheticProfiles: search.syntheticProfiles,
    log,
    payFor,
  });
  const findForgotten = createFindForgotten(people);

  const withPages = (source: LeadSource, kind: string): LeadSource => {
    if (leads.cacheMs === 0) return source;
    const cache = createCache({
      namespace: `leads-v4-${kind}`,
      ttlMs: leads.cacheMs,
      maxEntries: maxCacheEntries,
      redis,
      log,
    });
    return createCachedLeads({ source, cache });
  };
  /** A kept page may name somebody who was forgotten since. */
  const keep = (source: LeadSource, { definition }: ConfiguredSource): LeadSource =>
    createLeadsWithoutForgotten(withPages(source, definition.kind), findForgotten);
  const [first] = sources;
  if (isAlone && first?.definition.guardsItself === true)
    return { ...keep(first.source, first), findForgotten };
  const guarded = sources.map((configured) => ({
    name: configured.definition.kind,
    source: configured.source,
    timeoutMs: configured.timeoutMs,
    // Each source has a cache of its own, so an answer of one source is never kept as another's.
    keep: (guardedSource: LeadSource) => keep(guardedSource, configured),
  }));
  return { ...createCombinedLeads({ sources: guarded, timeoutMs: leads.timeoutMs, log }), findForgotten };
};

interface ConfiguredSource {
  definition: LeadSourceDefinition;
  source: LeadSource;
  timeoutMs: number;
}

const openSources = async (
  configs: readonly AnyLeadSourceConfig[],
  context: LeadSourceContext,
): Promise<ConfiguredSource[]> => {
  const sources: ConfiguredSource[] = [];
  try {
    for (const config of configs) {
      const definition = leadSourceOf(config);
      sources.push({
        definition,
        source: await definition.open(config, context),
        timeoutMs: config.timeoutMs,
      });
    }
    return sources;
  } catch (error) {
    await Promise.all(sources.map(({ source }) => source.close()));
    throw error;
  }
};
