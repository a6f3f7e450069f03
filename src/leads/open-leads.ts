import { createCache } from '../limits/bounded-cache.ts';
import type { RedisConnection } from '../limits/redis-connection.ts';
import type { PayFor } from '../http/pay-settings.ts';
import { directAddress, type StoreSettings } from '../store/store-settings.ts';
import { createCachedLeads } from './cached-leads.ts';
import { createCombinedLeads } from './combined-leads.ts';
import {
  createFindForgotten,
  createLeadsWithoutForgotten,
  type ForgottenPeople,
} from './forgotten-people.ts';
import type { Leads, LeadSource } from './lead-source.ts';
import type { LeadsConfig } from './leads-settings.ts';
import { leadsFolder } from './open-lead-index.ts';
import type { ServeOptions } from './lead-index.ts';

export interface OpenLeadsOptions extends ServeOptions {
  people: ForgottenPeople;
  /** Null keeps pages of results in this process. */
  redis: RedisConnection | null;
  /** Pays for answers. Absent: nothing is paid. */
  payFor?: PayFor | undefined;
}

interface LeadsSettings extends StoreSettings {
  leads: LeadsConfig;
  search: { syntheticProfiles: number };
}

/** The first start generates the fictional profiles in a few seconds; its first search waits for them. */
const firstSearchWaitMs = 10_000;
const seed = 1;
/** The most pages in the cache of each source. */
const maxCacheEntries = 500;

/**
 * Opens the configured sources in their order, with a cache. Sources that are not configured are not loaded. Rejects
 * when a source cannot be opened at all; one that cannot answer yet is opened, and not ready.
 */
export const openLeads = async (
  { leads, search, ...storeSettings }: LeadsSettings,
  { redis, payFor, ...options }: OpenLeadsOptions,
): Promise<Leads> => {
  const { log, people } = options;
  const isAlone = leads.sources.length === 1;
  const folder = leadsFolder(storeSettings.dataDir);
  const openFolder = async (): Promise<LeadSource> => {
    const { openSqliteLeads } = await import('./sqlite/open-sqlite-leads.ts');
    return openSqliteLeads({
      ...options,
      folder,
      fictional: { seed, profiles: isAlone ? search.syntheticProfiles : 0 },
      readyWaitMs: isAlone ? firstSearchWaitMs : 0,
    });
  };
  /** Opens the imported profiles. */
  const openEmbedded = async (): Promise<LeadSource> => {
    const url = directAddress(storeSettings);
    if (url === null) return openFolder();
    const { leftInFolder } = await import('./sqlite/profiles-folder.ts');
    const left = leftInFolder(folder);
    if (left !== null) log.warn(left);
    const { openPostgresLeads } = await import('./postgres/open-postgres-leads.ts');
    const openFictional = left === null && isAlone ? openFolder : null;
    return openPostgresLeads({ ...options, url, openFictional });
  };
  const open = async (config: LeadsConfig['sources'][number]): Promise<LeadSource> => {
    if (config.kind === 'embedded') return openEmbedded();
    const { createHttpLeads } = await import('./upstream/http-leads.ts');
    return createHttpLeads(config, { log, payFor });
  };
  const sources: { name: string; source: LeadSource; timeoutMs: number }[] = [];
  try {
    for (const config of leads.sources)
      sources.push({ name: config.kind, source: await open(config), timeoutMs: config.timeoutMs });
  } catch (error) {
    await Promise.all(sources.map(({ source }) => source.close()));
    throw error;
  }

  const findForgotten = createFindForgotten(people);
  // Each source has a cache of its own, so an answer of one source is never kept as another's.
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
  const keep = (source: LeadSource, kind: string): LeadSource =>
    createLeadsWithoutForgotten(withPages(source, kind), findForgotten);
  const [first] = sources;
  // As the only source it ends its searches in time by itself, and says why it cannot answer.
  if (isAlone && first?.name === 'embedded') return { ...keep(first.source, first.name), findForgotten };
  const guarded = sources.map((each) => ({ ...each, keep: (source: LeadSource) => keep(source, each.name) }));
  return { ...createCombinedLeads({ sources: guarded, timeoutMs: leads.timeoutMs, log }), findForgotten };
};
