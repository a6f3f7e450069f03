import { hash } from 'node:crypto';
import { z } from 'zod';
import type { BoundedCache } from '../cache/bounded-cache.ts';
import { systemClock, type Clock } from '../kit/clock.ts';
import { canonicalJson } from '../kit/json.ts';
import { inconclusiveSeconds, InconclusiveError } from './inconclusive-error.ts';
import type { Lead, LeadQuery, LeadSource } from './lead-source.ts';
import { createSharedCalls } from './shared-calls.ts';

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
  const sharedCalls = createSharedCalls<Lead[]>();

  const search = async (query: LeadQuery, signal: AbortSignal): Promise<Lead[]> => {
    const { revision } = source.status();
    const keep = (value: Lead[] | KeptFailure): void => {
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
      const leads = await sharedCalls.join({
        key,
        signal,
        call: (shared) => findOrSearch(key, query, shared),
      });
      return [...leads];
    },
    status: () => source.status(),
    close: () => source.close(),
  };
};

/** Returns a digest: keys are short, and queries cannot be read from them. */
const pageKey = (query: LeadQuery, revision: string): string =>
  hash('sha256', canonicalJson({ query, revision }), 'base64url');

/** An InconclusiveError, cached in place of a page. */
interface KeptFailure {
  inconclusive: string;
  /** Milliseconds since 1970. */
  until: number;
}

const pageSchema: z.ZodType<Lead[]> = z.array(
  z.object({
    username: z.string(),
    full_name: z.string(),
    followers: z.number(),
    following: z.number(),
    is_verified: z.boolean(),
    is_business: z.boolean(),
    category: z.string().optional(),
    bio: z.string().optional(),
    public_email: z.string().optional(),
    media_count: z.number().optional(),
    gender: z.enum(['male', 'female']).optional(),
    profile_pic_url: z.string().optional(),
    country: z.string().optional(),
    city: z.string().optional(),
  }),
);

const keptSchema: z.ZodType<Lead[] | KeptFailure> = z.union([
  pageSchema,
  z.object({ inconclusive: z.string(), until: z.number() }),
]);
