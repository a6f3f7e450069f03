import { hash } from 'node:crypto';
import { z } from 'zod';
import type { BoundedCache } from '../cache/bounded-cache.ts';
import { systemClock, type Clock } from '../kit/clock.ts';
import { canonicalJson } from '../kit/json.ts';
import { doubtSeconds, InconclusiveError } from './inconclusive-error.ts';
import type { Lead, LeadQuery, LeadSource } from './lead-source.ts';
import { createSharedCalls } from './shared-calls.ts';

export interface CachedLeadsOptions {
  source: LeadSource;
  /** Its life is the greatest age of a result; it belongs to this source alone. */
  cache: BoundedCache;
  /** In place of the system's. */
  clock?: Clock;
}

/**
 * `source` with its result pages kept for a while, empty ones included. Equal queries under way at one time are asked
 * once; failures go to those who wait and are not kept, but for an InconclusiveError of a source that was asked, for
 * as long as it says: asked again, which may cost the operator money, the source would say the same. Closing closes `source`.
 *
 * A page belongs to the revision of the source that it was searched in: after an import, or when somebody asked to be
 * forgotten, no earlier page is given out. A page during whose search the revision changed is not kept.
 */
export const createCachedLeads = ({ source, cache, clock = systemClock }: CachedLeadsOptions): LeadSource => {
  const sharedCalls = createSharedCalls<Lead[]>();

  const search = async (query: LeadQuery, signal: AbortSignal): Promise<Lead[]> => {
    const { revision } = source.status();
    const keep = (value: Lead[] | KeptDoubt): void => {
      if (source.status().revision === revision) void cache.set(pageKey(query, revision), value);
    };
    try {
      const leads = await source.search(query, { signal });
      keep(leads);
      return leads;
    } catch (error) {
      if (error instanceof InconclusiveError && error.wasAsked)
        keep({ inconclusive: error.message, until: clock.now() + doubtSeconds * 1_000 });
      throw error;
    }
  };
  const look = async (key: string, query: LeadQuery, signal: AbortSignal): Promise<Lead[]> => {
    const kept = keptSchema.safeParse(await cache.get(key));
    if (kept.success) {
      if (Array.isArray(kept.data)) return kept.data;
      const { inconclusive: message, until } = kept.data;
      if (clock.now() < until)
        throw new InconclusiveError({
          message,
          cause: 'as it was when it was asked last',
          wasAsked: false,
        });
    }
    signal.throwIfAborted();
    return search(query, signal);
  };

  return {
    async search(query, { signal }) {
      const key = pageKey(query, source.status().revision);
      const leads = await sharedCalls.join({ key, signal, call: (shared) => look(key, query, shared) });
      return [...leads];
    },
    status: () => source.status(),
    close: () => source.close(),
  };
};

/** A digest, so that keys are short and queries cannot be read from them. */
const pageKey = (query: LeadQuery, revision: string): string =>
  hash('sha256', canonicalJson({ query, revision }), 'base64url');

/** What a source said in place of a page. */
interface KeptDoubt {
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

const keptSchema: z.ZodType<Lead[] | KeptDoubt> = z.union([
  pageSchema,
  z.object({ inconclusive: z.string(), until: z.number() }),
]);
