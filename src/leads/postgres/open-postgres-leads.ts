import { DatabaseError } from 'pg';
import { AppError } from '../../kit/errors.ts';
import { createFairShareLimiter } from '../../kit/fair-share-limiter.ts';
import { pause } from '../../kit/repeat.ts';
import { unlessAborted } from '../../kit/deadline.ts';
import { createPool, type Pool } from '../../store/postgres/connection.ts';
import type { Lead, LeadQuery, LeadSource, LeadStatus } from '../lead-source.ts';
import { checkBeforeServing, type ServeOptions } from '../lead-index.ts';
import { searchError } from '../search-errors.ts';
import {
  connectionTo,
  findLeads,
  onCurrentSet,
  readSet,
  type LeadSet,
  type PostgresAddress,
} from './lead-set.ts';

export interface PostgresLeadsOptions extends PostgresAddress, ServeOptions {
  /** Opens the fictional profiles, which are searched until real ones were imported; null: nobody is found until then. */
  openFictional: (() => Promise<LeadSource>) | null;
  /** The server ends a search after this time. */
  searchTimeoutMs?: number;
}

/** Searches of one gateway that run together, each on a connection. */
const searchesAtOnce = 2;
const maxWaiting = 64;
const longestWaitMs = 1_000;
/** The interval between two looks at the current set. */
const lookMs = 500;

/** Makes a source that answers until another one takes its place. */
const sourceOf = (
  status: Omit<LeadStatus, 'synthetic'>,
  search: (query: LeadQuery, caller: AbortSignal) => Promise<Lead[]>,
): LeadSource => ({
  search: (query, { signal }) => search(query, signal),
  status: () => ({ ...status, synthetic: false }),
  close: async () => undefined,
});
const away = sourceOf({ ready: false, profiles: 0, revision: 'none' }, () =>
  Promise.reject(searchError('interrupted')),
);
const empty = sourceOf({ ready: true, profiles: 0, revision: 'empty' }, () => Promise.resolve([]));

/**
 * Opens the profiles that were imported into PostgreSQL. Another set is searched as soon as it is current, and its
 * revision is noticed within a second. While PostgreSQL cannot be reached, searches are refused with `upstream_error`
 * and `status().ready` is false. A search ends after two seconds; while two run, others wait for one second at most.
 */
export const openPostgresLeads = async (options: PostgresLeadsOptions): Promise<LeadSource> => {
  const { openFictional, log, searchTimeoutMs = 2_000 } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const pool = createPool(connectionTo(options, { statementTimeoutMs: searchTimeoutMs }), {
    size: searchesAtOnce,
    log,
  });
  const find = createFind(pool, { searchTimeoutMs, signal });
  let current = away;
  let isFictional = false;
  /** Why nothing can be searched now. */
  let trouble: string | null = null;
  /** Whether this process has seen imported profiles. Fictional ones do not replace them. */
  let hadSet = false;

  const enter = async (next: LeadSource): Promise<void> => {
    const former = current;
    current = next;
    isFictional = false;
    trouble = null;
    await former.close();
  };
  const serve = async (set: LeadSet): Promise<void> => {
    const { generation: revision, profiles, facets } = set;
    if (current.status().revision === revision) return;
    await checkBeforeServing(set, options);
    log.info({ generation: revision, profiles }, 'searches use new profiles from now on');
    hadSet = true;
    await enter(sourceOf({ ready: true, profiles, revision, facets }, find));
  };
  const look = async (): Promise<void> => {
    try {
      const set = await readSet(pool);
      if (set !== null) return await serve(set);
      if (hadSet) throw new Error('the imported profiles are gone');
      if (current !== away) return;
      await enter((await openFictional?.()) ?? empty);
      isFictional = openFictional !== null;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (signal.aborted || isFictional || reason === trouble) return;
      log.error({ err: error }, 'the imported profiles cannot be searched');
      await enter(away);
      trouble = reason;
    }
  };
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      await pause(lookMs, signal);
      if (!signal.aborted) await look();
    }
  };

  await look();
  const following = follow();
  return {
    search: async (query, caller) => {
      caller.signal.throwIfAborted();
      return current.search(query, caller);
    },
    status: () => current.status(),
    close: async () => {
      closing.abort(new AppError('shutting_down', 'The service is stopping. Try again in a moment.'));
      await following;
      await Promise.all([pool.end(), current.close()]);
    },
  };
};

/** Returns a function that finds profiles, within the limits of this gateway. `signal` ends the waiting of searches. */
const createFind = (
  pool: Pool,
  { searchTimeoutMs, signal }: { searchTimeoutMs: number; signal: AbortSignal },
): ((query: LeadQuery, caller: AbortSignal) => Promise<Lead[]>) => {
  const limiter = createFairShareLimiter({
    total: searchesAtOnce,
    queue: { total: maxWaiting, longestWaitMs, refusal: () => searchError('full') },
  });
  return async (query, caller) => {
    const release = await limiter.acquire({}, { signal: AbortSignal.any([caller, signal]) });
    const over = AbortSignal.timeout(searchTimeoutMs);
    const finding = onCurrentSet(() => findLeads(pool, query)).finally(release);
    try {
      return await unlessAborted(finding, AbortSignal.any([caller, over]));
    } catch (error) {
      caller.throwIfAborted();
      const isLate = over.aborted || (error instanceof DatabaseError && error.code === queryCanceled);
      throw searchError(isLate ? 'late' : 'failed', error);
    }
  };
};

/** Also a statement that takes too long is canceled. */
const queryCanceled = '57014';
