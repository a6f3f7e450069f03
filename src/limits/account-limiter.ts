import { createMinuteLimit, type MinuteLimitOptions } from './minute-limit.ts';

export type AccountLimiter = ReturnType<typeof createAccountLimiter>;

/** Limits the calls of each account, by whichever of its keys and over whichever transport. */
export const createAccountLimiter = (counting: MinuteLimitOptions) => {
  const count = createMinuteLimit('account', counting);
  return {
    /** Counts one call against the calls that the account may make in a minute. Throws as `createMinuteLimit`. */
    consume: (accountId: string, ratePerMinute: number): Promise<void> =>
      count(accountId, 'Too many calls of this account', ratePerMinute),
  };
};
