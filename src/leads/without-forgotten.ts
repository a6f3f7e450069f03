import { AppError } from '../kit/errors.ts';
import type { ForgottenPeople } from './forgotten-people.ts';
import type { FindForgotten, LeadSource } from './lead-source.ts';

/** Rejects with AppError `upstream_error` when the list cannot be read, or with the signal's reason. */
export const createFindForgotten =
  ({ find }: Pick<ForgottenPeople, 'find'>): FindForgotten =>
  async (usernames, { signal }) => {
    try {
      return await find(usernames, { signal });
    } catch (cause) {
      signal.throwIfAborted();
      throw new AppError('upstream_error', 'The profiles cannot be checked now. Try again in a moment.', {
        retryAfterSeconds: 1,
        cause,
      });
    }
  };

/**
 * Removes forgotten people from the answers of `source`, so a page may be shorter than its limit. While the list cannot
 * be read, searches are rejected with AppError `upstream_error`. Closing closes `source`.
 */
export const createLeadsWithoutForgotten = (
  source: LeadSource,
  findForgotten: FindForgotten,
): LeadSource => ({
  search: async (query, { signal }) => {
    const leads = await source.search(query, { signal });
    if (leads.length === 0) return leads;
    const usernames = leads.map(({ username }) => username);
    const forgotten = await findForgotten(usernames, { signal });
    return forgotten.size === 0 ? leads : leads.filter(({ username }) => !forgotten.has(username));
  },
  status: () => source.status(),
  close: () => source.close(),
});
