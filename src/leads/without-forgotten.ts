import { AppError } from '../errors.ts';
import type { LeadSource } from './lead-source.ts';

/** Those of `usernames` who asked to be forgotten. Rejects when that cannot be known. */
export type FindForgotten = (
  usernames: readonly string[],
  options: { signal: AbortSignal },
) => Promise<ReadonlySet<string>>;

/** A list of people who asked to be forgotten. */
export interface ForgottenList {
  /** Whether it can be asked yet. */
  isKnown(): boolean;
  find: FindForgotten;
}

/**
 * `source` without the people who are on one of `lists`, for profiles that are not kept here; a page may have fewer than
 * its limit for it. While it cannot be known who they are, nothing is given out: the source is not ready before all
 * lists are known, and searches are rejected with AppError `upstream_error`. Closing closes `source`.
 */
export const createLeadsWithoutForgotten = (
  source: LeadSource,
  lists: readonly ForgottenList[],
): LeadSource => ({
  search: async (query, { signal }) => {
    const leads = await source.search(query, { signal });
    if (leads.length === 0) return leads;
    const usernames = leads.map(({ username }) => username);
    const found = await Promise.all(lists.map(({ find }) => find(usernames, { signal }))).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        throw new AppError('upstream_error', 'The profiles cannot be checked now. Try again in a moment.', {
          retryAfterSeconds: 1,
          cause: error,
        });
      },
    );
    const forgotten = found.filter(({ size }) => size > 0);
    return forgotten.length === 0
      ? leads
      : leads.filter(({ username }) => !forgotten.some((names) => names.has(username)));
  },
  status: () => {
    const status = source.status();
    return { ...status, ready: status.ready && lists.every((list) => list.isKnown()) };
  },
  close: () => source.close(),
});
