/** In tenths of a retry, as whole numbers add up exactly: a full budget, and what each request adds. */
const fullTenths = 100;
const perRequestTenths = 1;
const perRetryTenths = 10;

/** Limits a provider's retries to a tenth of its requests, beside ten at once, so that they never multiply an outage. */
export interface RetryBudget {
  /** Tells of a first attempt. */
  deposit(): void;
  /** Pays for one retry; false when there is nothing left. */
  spend(): boolean;
}

export const createRetryBudget = (): RetryBudget => {
  let tenths = fullTenths;
  return {
    deposit: () => {
      tenths = Math.min(fullTenths, tenths + perRequestTenths);
    },
    spend: () => {
      if (tenths < perRetryTenths) return false;
      tenths -= perRetryTenths;
      return true;
    },
  };
};
