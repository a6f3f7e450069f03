import { afterAll, describe, expect, it } from 'vitest';
import { createCache, type BoundedCache } from '../../src/limits/bounded-cache.ts';
import { createRedisConnection, type RedisConnection } from '../../src/limits/redis-connection.ts';
import { AppError } from '../../src/kit/errors.ts';
import { createCachedLeads } from '../../src/leads/cached-leads.ts';
import { InconclusiveError } from '../../src/leads/search-errors.ts';
import type { Lead, LeadQuery, LeadSource, LeadStatus } from '../../src/leads/lead-source.ts';
import { silentLog } from '../../src/kit/log.ts';
import { openSharedRedis } from '../limits/shared-redis.ts';

const shared = await openSharedRedis();

const lead = (username: string, more: Partial<Lead> = {}): Lead => ({
  username,
  full_name: 'A Name',
  followers: 1_000,
  following: 10,
  is_verified: false,
  is_business: true,
  ...more,
});
const page = [lead('one', { country: 'DE', gender: 'female', media_count: 3 }), lead('two')];

type Answer = (query: LeadQuery, signal: AbortSignal) => Promise<Lead[]>;

/** A source that keeps the queries it was asked. */
const createFakeSource = (answer: Answer = async () => page) => {
  const asked: LeadQuery[] = [];
  let isClosed = false;
  const state: LeadStatus = { ready: true, synthetic: true, profiles: 2, revision: '1' };
  const source: LeadSource = {
    search(query, { signal }) {
      asked.push(query);
      return answer(query, signal);
    },
    status: () => ({ ...state }),
    async close() {
      isClosed = true;
    },
  };
  return { source, asked, state, isClosed: () => isClosed };
};

const openCache = (redis: RedisConnection | null = null, namespace = 'leads'): BoundedCache =>
  createCache({ namespace, ttlMs: 60_000, maxEntries: 100, redis, log: silentLog, timeoutMs: 10_000 });
const search = (
  leads: LeadSource,
  query: LeadQuery,
  signal = new AbortController().signal,
): Promise<Lead[]> => leads.search(query, { signal });

describe('leads with a cache', () => {
  it('asks the source once for equal queries, however they are written', async () => {
    const { source, asked } = createFakeSource();
    const leads = createCachedLeads({ source, cache: openCache() });
    expect(await search(leads, { query: 'yoga', country: 'DE', limit: 20 })).toEqual(page);
    expect(await search(leads, { limit: 20, country: 'DE', query: 'yoga', gender: undefined })).toEqual(page);
    expect(asked).toHaveLength(1);
  });

  it('keeps different queries apart', async () => {
    const { source, asked } = createFakeSource(async ({ limit }) => page.slice(0, limit));
    const leads = createCachedLeads({ source, cache: openCache() });
    const queries: LeadQuery[] = [
      { limit: 1 },
      { limit: 2 },
      { limit: 2, query: 'DE' },
      { limit: 2, country: 'DE' },
      { limit: 2, minFollowers: 5 },
      { limit: 2, maxFollowers: 5 },
    ];
    for (const query of queries) await search(leads, query);
    expect(asked).toEqual(queries);
    expect(await search(leads, { limit: 1 })).toEqual(page.slice(0, 1));
  });

  it('keeps an empty page', async () => {
    const { source, asked } = createFakeSource(async () => []);
    const leads = createCachedLeads({ source, cache: openCache() });
    expect([await search(leads, { limit: 5 }), await search(leads, { limit: 5 })]).toEqual([[], []]);
    expect(asked).toHaveLength(1);
  });

  it('does not keep a failure', async () => {
    let fails = true;
    const { source, asked } = createFakeSource(async () => {
      if (fails) throw new AppError('upstream_error', 'The search is not available now.');
      return page;
    });
    const leads = createCachedLeads({ source, cache: openCache() });
    await expect(search(leads, { limit: 5 })).rejects.toMatchObject({ code: 'upstream_error' });
    fails = false;
    expect(await search(leads, { limit: 5 })).toEqual(page);
    expect(asked).toHaveLength(2);
  });

  it('keeps that a source cannot tell, with what it said of that', async () => {
    const { source, asked, state } = createFakeSource(async () => {
      throw new InconclusiveError({ message: 'Leave the country out.', cause: 'no row has one' });
    });
    const leads = createCachedLeads({ source, cache: openCache() });
    for (let time = 0; time < 2; time += 1) {
      const error: unknown = await search(leads, { limit: 5 }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(InconclusiveError);
      expect(error).toMatchObject({ message: 'Leave the country out.', status: 502 });
    }
    expect(asked).toHaveLength(1);
    state.revision = '2';
    await expect(search(leads, { limit: 5 })).rejects.toThrow('Leave');
    expect(asked).toHaveLength(2);
  });

  it('keeps that for a minute, however long pages are kept, and nothing that was not asked', async () => {
    let [now, wasAsked] = [0, true];
    const { source, asked } = createFakeSource(async () => {
      throw new InconclusiveError({ cause: 'no row has one', wasAsked });
    });
    const cache = openCache();
    const leads = createCachedLeads({ source, cache, clock: { now: () => now } });
    const fails = () => expect(search(leads, { limit: 5 })).rejects.toBeInstanceOf(InconclusiveError);
    await fails();
    now = 59_999;
    await fails();
    expect(asked).toHaveLength(1);
    now = 60_000;
    wasAsked = false;
    await fails();
    await fails();
    expect(asked).toHaveLength(3);
  });

  it('is not changed by what a caller does to a page', async () => {
    const { source } = createFakeSource(async () => page.map((each) => ({ ...each })));
    const leads = createCachedLeads({ source, cache: openCache() });
    for (let call = 0; call < 3; call += 1) {
      const found = await search(leads, { limit: 5 });
      expect(found).toEqual(page);
      found[0]!.followers = -1;
      found.pop();
    }
  });

  it('ignores an entry of another shape', async () => {
    const { source, asked } = createFakeSource();
    const cache: BoundedCache = {
      get: async () => [{ name: 'of another version' }],
      set: async () => undefined,
    };
    expect(await search(createCachedLeads({ source, cache }), { limit: 5 })).toEqual(page);
    expect(asked).toHaveLength(1);
  });

  it('passes status and close on', async () => {
    const { source, isClosed } = createFakeSource();
    const leads = createCachedLeads({ source, cache: openCache() });
    expect(leads.status()).toEqual({ ready: true, synthetic: true, profiles: 2, revision: '1' });
    await leads.close();
    expect(isClosed()).toBe(true);
  });
});

describe('pages of a source whose data changes', () => {
  it('are not given out after the change, and again when it is undone', async () => {
    let answer = page;
    const { source, asked, state } = createFakeSource(async () => answer);
    const leads = createCachedLeads({ source, cache: openCache() });
    expect(await search(leads, { limit: 5 })).toEqual(page);
    answer = [];
    state.revision = '2';
    expect(await search(leads, { limit: 5 })).toEqual([]);
    state.revision = '1';
    expect(await search(leads, { limit: 5 })).toEqual(page);
    expect(asked).toHaveLength(2);
  });

  it('are not kept when the change came during their search', async () => {
    const { source, asked, state } = createFakeSource(async () => {
      state.revision += '+';
      return page;
    });
    const leads = createCachedLeads({ source, cache: openCache() });
    await search(leads, { limit: 5 });
    state.revision = '1';
    await search(leads, { limit: 5 });
    state.revision = '1+';
    await search(leads, { limit: 5 });
    expect(asked).toHaveLength(3);
  });

  it('are not shared with a search that begins after the change', async () => {
    const gates = [Promise.withResolvers<Lead[]>(), Promise.withResolvers<Lead[]>()];
    const { source, asked, state } = createFakeSource(() => gates[asked.length - 1]!.promise);
    const leads = createCachedLeads({ source, cache: openCache() });
    const before = search(leads, { limit: 5 });
    await expect.poll(() => asked.length).toBe(1);
    state.revision = '2';
    const after = search(leads, { limit: 5 });
    await expect.poll(() => asked.length).toBe(2);
    gates[0]!.resolve(page);
    gates[1]!.resolve([]);
    expect([await before, await after]).toEqual([page, []]);
  });
});

describe('equal searches at one time', () => {
  /** A source that answers when told to, and says when it was asked or aborted. */
  const createHeldSource = () => {
    const gate = Promise.withResolvers<Lead[]>();
    const reached = Promise.withResolvers<AbortSignal>();
    const fake = createFakeSource((_, signal) => {
      reached.resolve(signal);
      const aborted = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => aborted.reject(signal.reason));
      return Promise.race([gate.promise, aborted.promise]);
    });
    return { ...fake, gate, reached: reached.promise };
  };

  it('are asked once and all answered', async () => {
    const { source, asked, gate, reached } = createHeldSource();
    const leads = createCachedLeads({ source, cache: openCache() });
    const searches = Array.from({ length: 50 }, () => search(leads, { limit: 5 }));
    await reached;
    gate.resolve(page);
    expect(await Promise.all(searches)).toEqual(Array.from({ length: 50 }, () => page));
    expect(asked).toHaveLength(1);
  });

  it('all fail with it, and the next one is asked again', async () => {
    const { source, asked, gate } = createHeldSource();
    const leads = createCachedLeads({ source, cache: openCache() });
    const searches = Array.from({ length: 5 }, () => search(leads, { limit: 5 }));
    gate.reject(new AppError('upstream_error', 'The search is not available now.'));
    const outcomes = await Promise.allSettled(searches);
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
    await expect(search(leads, { limit: 5 })).rejects.toMatchObject({ code: 'upstream_error' });
    expect(asked).toHaveLength(2);
  });

  it('go on when one of the callers leaves', async () => {
    const { source, gate, reached } = createHeldSource();
    const leads = createCachedLeads({ source, cache: openCache() });
    const leaver = new AbortController();
    const left = search(leads, { limit: 5 }, leaver.signal);
    const stayed = search(leads, { limit: 5 });
    const signal = await reached;
    leaver.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(signal.aborted).toBe(false);
    gate.resolve(page);
    expect(await stayed).toEqual(page);
  });

  it('are aborted when all callers have left, and a later one is asked afresh', async () => {
    const { source, asked, gate, reached } = createHeldSource();
    const leads = createCachedLeads({ source, cache: openCache() });
    const leaver = new AbortController();
    const left = [search(leads, { limit: 5 }, leaver.signal), search(leads, { limit: 5 }, leaver.signal)];
    const signal = await reached;
    leaver.abort(new Error('gone'));
    for (const each of left) await expect(each).rejects.toThrow('gone');
    expect(signal.aborted).toBe(true);
    gate.resolve(page);
    expect(await search(leads, { limit: 5 })).toEqual(page);
    expect(asked).toHaveLength(2);
  });

  it('are asked afresh after all callers left, even when the source ignores that', async () => {
    let isFirst = true;
    const { source } = createFakeSource(() => {
      if (!isFirst) return Promise.resolve(page);
      isFirst = false;
      return new Promise(() => undefined);
    });
    const leads = createCachedLeads({ source, cache: openCache() });
    const leaver = new AbortController();
    const left = search(leads, { limit: 5 }, leaver.signal);
    await expect.poll(() => isFirst).toBe(false);
    leaver.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(await search(leads, { limit: 5 })).toEqual(page);
  });

  it('are not begun for a caller who has left already', async () => {
    const { source, asked } = createFakeSource();
    const leads = createCachedLeads({ source, cache: openCache() });
    await expect(search(leads, { limit: 5 }, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(asked).toHaveLength(0);
  });
});

describe.skipIf(shared === null)('leads with a cache in Redis', () => {
  const server = shared!;
  afterAll(() => server.close());

  it('are found once for all replicas', async () => {
    const connections = [1, 2].map(() => createRedisConnection({ url: server.url, log: silentLog }));
    const sources = connections.map(() => createFakeSource());
    const replicas = sources.map(({ source }, index) =>
      createCachedLeads({ source, cache: openCache(connections[index], server.prefix) }),
    );
    expect(await search(replicas[0]!, { limit: 5 })).toEqual(page);
    await expect.poll(() => server.keys()).toHaveLength(1);
    expect(await search(replicas[1]!, { limit: 5 })).toEqual(page);
    expect(sources.map(({ asked }) => asked.length)).toEqual([1, 0]);
    for (const connection of connections) await connection.close();
  });

  it('are still found when Redis is gone', async () => {
    const redis = createRedisConnection({ url: server.url, log: silentLog });
    await redis.close();
    const { source, asked } = createFakeSource();
    const leads = createCachedLeads({ source, cache: openCache(redis, server.prefix) });
    expect([await search(leads, { limit: 6 }), await search(leads, { limit: 6 })]).toEqual([page, page]);
    expect(asked).toHaveLength(2);
  });
});
