import { AppError } from '../kit/errors.ts';
import type { FindForgotten, LeadSource } from './lead-source.ts';

export interface ForgottenList {
  /** Whether it can be read. */
  isKnown(): boolean;
  find: FindForgotten;
}

/** Searches all lists. Rejects with AppError `upstream_error` when one cannot be read, or with the signal's reason. */
export const createFindForgotten =
  (lists: readonly ForgottenList[]): FindForgotten =>
  async (usernames, { signal }) => {
    try {
      const found = await Promise.all(lists.map(({ find }) => find(usernames, { signal })));
      return new Set(found.flatMap((names) => [...names]));
    } catch (cause) {
      signal.throwIfAborted();
      throw new AppError('upstream_error', 'The profiles cannot be checked now. Try again in a moment.', {
        retryAfterSeconds: 1,
        cause,
      });
    }
  };

/**
 * Removes people who are on one of the lists from the answers of `source`, so a page may be shorter than its limit.
 * While a list cannot be read, nothing is answered: the source is not ready, and searches are rejected with AppError
 * `upstream_error`. Closing closes `source`.
 */
export const createLeadsWithoutForgotten = (
  source: LeadSource,
  lists: readonly ForgottenList[],
): LeadSource => {
  const findForgotten = createFindForgotten(lists);
  return {
    search: async (query, { signal }) => {
      const leads = await source.search(query, { signal });
      if (leads.length === 0) return leads;
      const usernames = leads.map(({ username }) => username);
      const forgotten = await findForgotten(usernames, { signal });
      return forgotten.size === 0 ? leads : leads.filter(({ username }) => !forgotten.has(username));
    },
    status: () => {
      const status = source.status();
      return { ...status, ready: status.ready && lists.every((list) => list.isKnown()) };
    },
    close: () => source.close(),
  };
};
