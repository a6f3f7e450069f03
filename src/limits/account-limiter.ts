import { createMinuteCounter, type MinuteCounterOptions } from './minute-counter.ts';
import { tooMany } from './too-many.ts';

export interface AccountLimiter {
  /**
   * Counts one call of the account, by whichever of its keys and over whichever transport. Throws AppError
   * `rate_limit_exceeded` (429, with `retryAfterSeconds`) above its limit; refused calls count too, until the minute
   * is over.
   */
  consume(caller: LimitedCaller): Promise<void>;
  close(): Promise<void>;
}

/** The facts of a caller that decide its limit. */
export interface LimitedCaller {
  accountId: string;
  /** `Account.terms`, which may have a limit of their own. */
  terms: string | null;
  isSandbox: boolean;
}

export interface AccountLimiterOptions extends Pick<
  MinuteCounterOptions,
  'redis' | 'timeoutMs' | 'maxBuckets'
> {
  /** Returns the calls that the account may make in a minute. */
  limitOf: (caller: LimitedCaller) => number;
  keyPrefix?: string;
}

/** Limits the calls of each account. */
export const createAccountLimiter = ({
  limitOf,
  keyPrefix = 'causeway:account-limit',
  ...counting
}: AccountLimiterOptions): AccountLimiter => {
  const counter = createMinuteCounter({ ...counting, keyPrefix });
  return {
    async consume(caller) {
      const ratePerMinute = limitOf(caller);
      const { count, msLeft } = await counter.add(caller.accountId);
      if (count > ratePerMinute) throw tooMany('Too many calls of this account', { ratePerMinute, msLeft });
    },
    close: () => counter.close(),
  };
};
