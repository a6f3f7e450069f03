import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createCache } from '../cache/bounded-cache.ts';
import type { RedisConnection } from '../cache/redis-connection.ts';
import type { Log } from '../kit/log.ts';
import { createCachedLeads } from './cached-leads.ts';
import { createCombinedLeads } from './combined-leads.ts';
import { openForgottenList } from './embedded/find-forgotten.ts';
import type { ForgottenPeople } from './forgotten-people.ts';
import { leadSourceOf, type AnyLeadSourceConfig } from './index.ts';
import type { LeadSourceContext, LeadSourceDefinition, OpenedLeadSource } from './lead-source-definition.ts';
import type { Leads, LeadSource } from './lead-source.ts';
import type { LeadsConfig } from './leads-settings.ts';
import { createFindForgotten, createLeadsWithoutForgotten } from './without-forgotten.ts';

export interface OpenLeadsOptions extends Pick<LeadSourceContext, 'payFor'> {
  /** Null keeps pages of results in this process. */
  redis: RedisConnection | null;
  log: Log;
  /** Nobody of them is in an answer. */
  people: Pick<ForgottenPeople, 'find'>;
}

interface LeadsSettings {
  dataDir: string;
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
  { dataDir, leads, search }: LeadsSettings,
  { redis, log, payFor, people }: OpenLeadsOptions,
): Promise<Leads> => {
  const folder = join(dataDir, 'leads');
  const isAlone = leads.sources.length === 1;
  // People whose profiles are elsewhere are forgotten in this folder.
  if (leads.sources.some((config) => !leadSourceOf(config).erasesForgotten))
    await mkdir(folder, { recursive: true });
  const sources = await openSources(leads.sources, {
    folder,
    isAlone,
    syntheticProfiles: search.syntheticProfiles,
    log,
    payFor,
  });
  const inStore = { isKnown: () => true, find: people.find };
  const lists = [
    inStore,
    openForgottenList(folder),
    ...sources.flatMap(({ source }) => source.forgotten ?? []),
  ];

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
  /** `own` is the list of the source, and `source` the source with what guards it. */
  const keep = (
    source: LeadSource,
    { definition, source: { forgotten: own } }: ConfiguredSource,
  ): LeadSource => {
    const kept = withPages(source, definition.kind);
    // A kept page may name somebody who was forgotten since.
    return createLeadsWithoutForgotten(
      kept,
      definition.erasesForgotten && own === undefined ? [inStore] : lists,
    );
  };
  const findForgotten = createFindForgotten(lists);
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
  source: OpenedLeadSource;
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
