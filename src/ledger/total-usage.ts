import type { JsonObject } from '../kit/json.ts';
import { formatUsd } from '../kit/money.ts';
import type { JobStatus, UsageSum } from '../store/store.ts';

const dayMs = 86_400_000;

/** Adds up usage: in total, and by model, kind and day (docs/contract.md, "Usage"). */
export const totalUsage = (sums: readonly UsageSum[]): JsonObject => ({
  ...totals(sums),
  by_model: totalsBy(sums, 'model', ({ model }) => model),
  by_kind: totalsBy(sums, 'kind', ({ kind }) => kind),
  by_day: totalsBy(sums, 'day', ({ day }) =>
    new Date(day * dayMs).toISOString().slice(0, 'YYYY-MM-DD'.length),
  ),
});

/** Returns one row per key, ordered by key. */
const totalsBy = (sums: readonly UsageSum[], name: string, keyOf: (sum: UsageSum) => string): JsonObject[] =>
  [...Map.groupBy(sums, keyOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, group]) => ({ [name]: key, ...totals(group) }));

const totals = (sums: readonly UsageSum[]): JsonObject => {
  const charged = sums.reduce((total, sum) => total + sum.charged, 0n);
  const refunded = sums.reduce((total, sum) => total + sum.refunded, 0n);
  const jobsIn = (status: JobStatus): number =>
    sums.reduce((total, sum) => total + (sum.status === status ? sum.jobs : 0), 0);
  return {
    jobs: {
      total: sums.reduce((total, sum) => total + sum.jobs, 0),
      queued: jobsIn('queued'),
      running: jobsIn('running'),
      done: jobsIn('done'),
      failed: jobsIn('failed'),
    },
    charged_usd: formatUsd(charged),
    refunded_usd: formatUsd(refunded),
    net_spent_usd: formatUsd(charged - refunded),
  };
};
