import { providerOf } from '../jobs/public-job.ts';
import type { KnownJob } from '../jobs/job-runner.ts';
import { formatUsd } from '../kit/money.ts';
import type { OperationSettings } from './call.ts';

/** The headers with the cost and the provider of a job, by their names after `x-<brand>-`. */
export const billHeaderTexts = {
  Provider: 'The name of the provider that answered, as the operator calls it.',
  'Charge-Usd': 'The price that was charged for the job; `0.00` when it failed. Absent while the job runs.',
  'Hold-Usd': 'The amount that is held for the job while it runs. The charge is at most this.',
  'Balance-Usd':
    'The available balance just after the charge. Absent where it is not at hand, as on some repeats.',
};

/** Returns the known ones of these headers. `provider`: for an answer that has just begun. */
export const billHeaders = (
  job: KnownJob,
  { brand }: Pick<OperationSettings, 'brand'>,
  provider: string | null = providerOf(job),
): Record<string, string> => ({
  ...(provider === null ? {} : { [`x-${brand}-provider`]: provider }),
  ...(job.holdState === 'open'
    ? { [`x-${brand}-hold-usd`]: formatUsd(job.hold) }
    : { [`x-${brand}-charge-usd`]: formatUsd(job.charged) }),
  ...(job.available === undefined ? {} : { [`x-${brand}-balance-usd`]: formatUsd(job.available) }),
});
