import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createCache } from '../cache/bounded-cache.ts';
import type { RedisConnection } from '../cache/redis-connection.ts';
import type { LeadsConfig, LeadSourceConfig } from './leads-settings.ts';
import type { Log } from '../kit/log.ts';
import { createCachedLeads } from './cached-leads.ts';
import { createCombinedLeads, type CombinedSource } from './combined-leads.ts';
import { openForgottenList } from './embedded/find-forgotten.ts';
import { openEmbeddedLeads } from './embedded/open-embedded-leads.ts';
import type { Leads, LeadSource } from './lead-source.ts';
import type { PostgresLeads } from './postgres/open-postgres-leads.ts';
import { createFindForgotten, createLeadsWithoutForgotten, type ForgottenList } from './without-forgotten.ts';

export interface OpenLeadsOptions {
  /** Null keeps pages of results in this process. */
  redis: RedisConnection | null;
  log: Log;
}

interface LeadsSettings {
  leads: LeadsConfig;
  dataDir: string;
  search: { syntheticProfiles: number };
}

/** Of each source. */
const cacheEntries = 500;
/** The first start builds the fictional profiles in a few seconds: its first search is late rather than refused. */
const firstSearchWaitMs = 10_000;

/**
 * The leads as they are configured: the sources in their order, with a cache. What is not used is not loaded. Rejects
 * when a source cannot be opened at all; one that only does not answer yet is opened, and not ready.
 */
export const openLeads = async (settings: LeadsSettings, options: OpenLeadsOptions): Promise<Leads> => {
  const { timeoutMs } = settings.leads;
  const { log } = options;
  // Where people are forgotten whose profiles are elsewhere.
  if (settings.leads.sources.some(({ kind }) => !isKeptHere(kind)))
    await mkdir(leadsFolder(settings), { recursive: true });
  const sources = await openSources(settings, log);
  const lists = [openForgottenList(leadsFolder(settings)), ...sources.flatMap((one) => one.forgotten ?? [])];
  // A page that is kept may have somebody who was forgotten since.
  const keepPages = (source: LeadSource, name: string): LeadSource => {
    const kept = withPages(source, { name, cacheMs: settings.leads.cacheMs, ...options });
    return isKeptHere(name) ? kept : createLeadsWithoutForgotten(kept, lists);
  };
  const findForgotten = createFindForgotten(lists);
  const [first, ...others] = sources;
  // The index keeps its own time, and says better than "unavailable" what it waits for.
  if (first?.name === 'embedded' && others.length === 0)
    return { ...keepPages(first.source, first.name), findForgotten };
  // Each keeps its own: what one answered in the place of another is not kept as that one's answer.
  const each = sources.map((one) => ({
    ...one,
    keep: (guarded: LeadSource) => keepPages(guarded, one.name),
  }));
  return { ...createCombinedLeads({ sources: each, timeoutMs, log }), findForgotten };
};

const leadsFolder = ({ dataDir }: LeadsSettings): string => join(dataDir, 'leads');

/** Whether forgotten people are erased in the source itself. */
const isKeptHere = (name: string): boolean => name === 'embedded' || name === 'postgres';

const withPages = (
  source: LeadSource,
  { name, cacheMs, redis, log }: OpenLeadsOptions & { name: string; cacheMs: number },
): LeadSource => {
  if (cacheMs === 0) return source;
  const cache = createCache({
    namespace: `leads-v4-${name}`,
    ttlMs: cacheMs,
    maxEntries: cacheEntries,
    redis,
    log,
  });
  return createCachedLeads({ source, cache });
};

interface OpenedSource extends CombinedSource {
  /** Where people are forgotten in this source, whom others shall not give out either. */
  forgotten?: ForgottenList;
}

const openSources = async (settings: LeadsSettings, log: Log): Promise<OpenedSource[]> => {
  const sources: OpenedSource[] = [];
  try {
    for (const config of settings.leads.sources) {
      const source = await openSource(config, { settings, log });
      sources.push({
        name: config.kind,
        source,
        timeoutMs: config.timeoutMs,
        ...('forgotten' in source ? { forgotten: source.forgotten } : {}),
      });
    }
    return sources;
  } catch (error) {
    await Promise.all(sources.map(({ source }) => source.close()));
    throw error;
  }
};

const openSource = async (
  config: LeadSourceConfig,
  { settings, log }: { settings: LeadsSettings; log: Log },
): Promise<LeadSource | PostgresLeads> => {
  switch (config.kind) {
    case 'embedded': {
      const isAlone = settings.leads.sources.length === 1;
      return openEmbeddedLeads({
        folder: leadsFolder(settings),
        syntheticProfiles: isAlone ? settings.search.syntheticProfiles : 0,
        log,
        limits: { readyWaitMs: isAlone ? firstSearchWaitMs : 0 },
      });
    }
    case 'postgres': {
      const { openPostgresLeads } = await import('./postgres/open-postgres-leads.ts');
      return openPostgresLeads({ url: config.url, log });
    }
    case 'http': {
      const { createHttpLeads } = await import('./upstream/http-leads.ts');
      return createHttpLeads(config, { log });
    }
    case 'apify': {
      const { createApifyLeads } = await import('./upstream/apify-leads.ts');
      return createApifyLeads(config, { log });
    }
  }
};
