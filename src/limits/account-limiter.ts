import { createMinuteLimit, type MinuteLimitOptions } from './minute-limit.ts';

/** The facts of a caller that decide its limit. */
export interface LimitedCaller {
  accountId: string;
  /** `Account.terms`, which may have a limit of their own. */
  terms: string | null;
  isSandbox: boolean;
}

export interface AccountLimiterOptions extends MinuteLimitOptions {
  /** Returns the calls that the account may make in a minute. */
  limitOf: (caller: LimitedCaller) => number;
}

export type AccountLimiter = ReturnType<typeof createAccountLimiter>;

/** Limits the calls of each account, by whichever of its keys and over whichever transport. */
export const createAccountLimiter = ({ limitOf, ...counting }: AccountLimiterOptions) => {
  const count = createMinuteLimit('account', counting);
  return {
    /** Counts one call. Throws as `createMinuteLimit`. */
    consume: async (caller: LimitedCaller): Promise<void> =>
      count(caller.accountId, 'Too many calls of this account', limitOf(caller)),
  };
};
