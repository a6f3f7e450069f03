import { AppError } from '../errors.ts';
import type { LeadSource } from './lead-source.ts';

/** Those of `usernames` who asked to be forgotten. Rejects when that cannot be known. */
export type FindForgotten = (
  usernames: readonly string[],
  options: { signal: AbortSignal },
) => Promise<ReadonlySet<string>>;

/**
 * `source` without the people who asked to be forgotten, for profiles that are not kept here; a page may have fewer than
 * its limit for it. While it cannot be known who they are, nothing is given out: searches are rejected with AppError
 * `upstream_error`. Closing closes `source`.
 */
export const createLeadsWithoutForgotten = (
  source: LeadSource,
  findForgotten: FindForgotten,
): LeadSource => ({
  search: async (query, { signal }) => {
    const leads = await source.search(query, { signal });
    if (leads.length === 0) return leads;
    const forgotten = await findForgotten(
      leads.map(({ username }) => username),
      { signal },
    ).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new AppError('upstream_error', 'The profiles cannot be checked now. Try again in a moment.', {
        retryAfterSeconds: 1,
        cause: error,
      });
    });
    return forgotten.size === 0 ? leads : leads.filter(({ username }) => !forgotten.has(username));
  },
  status: () => source.status(),
  close: () => source.close(),
});
