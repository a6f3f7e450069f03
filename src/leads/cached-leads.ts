import { hash } from 'node:crypto';
import { z } from 'zod';
import type { BoundedCache } from '../limits/bounded-cache.ts';
import { systemClock, type Clock } from '../kit/clock.ts';
import { canonicalJson } from '../kit/json.ts';
import { unlessAborted } from '../kit/deadline.ts';
import { inconclusiveSeconds, InconclusiveError } from './search-errors.ts';
import { leadSchema, type Lead, type LeadQuery, type LeadSource } from './lead-source.ts';

export interface CachedLeadsOptions {
  source: LeadSource;
  /** Its time to live is the greatest age of a result. It belongs to this source alone. */
  cache: BoundedCache;
  /** The system's clock when absent. */
  clock?: Clock;
}

/**
 * Caches the result pages of `source`, empty ones included. Equal queries that run at the same time are sent once.
 * Failures are not cached, except an InconclusiveError of a source that was asked: asking again would give the same
 * answer, and may cost the operator money. Closing closes `source`.
 *
 * A page belongs to one revision of the source. After an import, and when somebody is forgotten, no earlier page is
 * answered. A page is not cached when the revision changed during its search.
 */
export const createCachedLeads = ({ source, cache, clock = systemClock }: CachedLeadsOptions): LeadSource => {
  const share = createSharedCalls<Lead[]>();

  const search = async (query: LeadQuery, signal: AbortSignal): Promise<Lead[]> => {
    const { revision } = source.status();
    const keep = (value: z.output<typeof keptSchema>): void => {
      if (source.status().revision === revision) void cache.set(pageKey(query, revision), value);
    };
    try {
      const leads = await source.search(query, { signal });
      keep(leads);
      return leads;
    } catch (error) {
      if (error instanceof InconclusiveError && error.wasAsked)
        keep({ inconclusive: error.message, until: clock.now() + inconclusiveSeconds * 1_000 });
      throw error;
    }
  };
  const findOrSearch = async (key: string, query: LeadQuery, signal: AbortSignal): Promise<Lead[]> => {
    const kept = keptSchema.safeParse(await cache.get(key));
    if (kept.success) {
      if (Array.isArray(kept.data)) return kept.data;
      const { inconclusive: message, until } = kept.data;
      if (clock.now() < until)
        throw new InconclusiveError({
          message,
          cause: 'the source answered so a short time ago',
          wasAsked: false,
        });
    }
    signal.throwIfAborted();
    return search(query, signal);
  };

  return {
    async search(query, { signal }) {
      const key = pageKey(query, source.status().revision);
      const leads = await share(key, signal, (shared) => findOrSearch(key, query, shared));
      return [...leads];
    },
    status: () => source.status(),
    close: () => source.close(),
  };
};

/** Returns a digest: keys are short, and queries cannot be read from them. */
const pageKey = (query: LeadQuery, revision: string): string =>
  hash('sha256', canonicalJson({ query, revision }), 'base64url');

/** A page of results, or the message of a failure with its end in milliseconds since 1970. */
const keptSchema = z.union([z.array(leadSchema), z.object({ inconclusive: z.string(), until: z.number() })]);

/**
 * Shares one call among all callers with the same key while it runs. The returned function resolves with the outcome of
 * the running call for `key`, or of a new one, and rejects with the reason of `signal`. The call itself is aborted when
 * all its callers have left.
 */
const createSharedCalls = <T>() => {
  /** Has at most as many entries as there are waiting callers. */
  const flights = new Map<string, { outcome: Promise<T>; controller: AbortController; waiting: number }>();

  const start = (key: string, call: (signal: AbortSignal) => Promise<T>) => {
    const controller = new AbortController();
    const flight = { outcome: call(controller.signal), controller, waiting: 0 };
    flights.set(key, flight);
    return flight;
  };

  return async (key: string, signal: AbortSignal, call: (shared: AbortSignal) => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const flight = flights.get(key) ?? start(key, call);
    flight.waiting += 1;
    try {
      return await unlessAborted(flight.outcome, signal);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        if (flights.get(key) === flight) flights.delete(key);
        flight.controller.abort();
      }
    }
  };
};
