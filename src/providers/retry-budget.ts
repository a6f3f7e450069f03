/** In tenths of a retry, as whole numbers add up exactly: a full budget, and what each request adds. */
const fullTenths = 100;
const perRequestTenths = 1;
const perRetryTenths = 10;

export type RetryBudget = ReturnType<typeof createRetryBudget>;

/** Limits a provider's retries to a tenth of its requests, and ten at once, so that they never multiply an outage. */
export const createRetryBudget = () => {
  let tenths = fullTenths;
  return {
    /** The retries that can be paid now. */
    left: (): number => Math.floor(tenths / perRetryTenths),
    /** Tells of a first attempt. */
    deposit: (): void => {
      tenths = Math.min(fullTenths, tenths + perRequestTenths);
    },
    /** Pays for one retry; false when there is nothing left. */
    spend: (): boolean => {
      if (tenths < perRetryTenths) return false;
      tenths -= perRetryTenths;
      return true;
    },
  };
};
