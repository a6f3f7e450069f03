import { formatUsd } from '../../kit/money.ts';
import type { JobStatus, UsageSum } from '../../store/store.ts';

const dayMs = 86_400_000;

/** Adds up usage: in total, and by model, kind and day (docs/contract.md, "Usage"). */
export const totalUsage = (sums: readonly UsageSum[]) => ({
  ...totals(sums),
  by_model: groups(sums, ({ model }) => model).map(([model, group]) => ({ model, ...totals(group) })),
  by_kind: groups(sums, ({ kind }) => kind).map(([kind, group]) => ({ kind, ...totals(group) })),
  by_day: groups(sums, dayOf).map(([day, group]) => ({ day, ...totals(group) })),
});

const dayOf = ({ day }: UsageSum): string =>
  new Date(day * dayMs).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** Returns one group per key, ordered by key. */
const groups = (sums: readonly UsageSum[], keyOf: (sum: UsageSum) => string): [string, UsageSum[]][] =>
  [...Map.groupBy(sums, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));

const totals = (sums: readonly UsageSum[]) => {
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
