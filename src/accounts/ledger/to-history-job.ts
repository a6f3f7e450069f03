import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd } from '../../kit/money.ts';
import type { JobSummary } from '../../store/store.ts';
import { billingStatus } from './billing-status.ts';

/** Makes a job's history row (docs/contract.md, "History"), without input, result and upstream. */
export const toHistoryJob = (job: JobSummary): JsonObject => ({
  id: job.id,
  model: job.model,
  kind: job.kind,
  status: job.status,
  created_at: toIso(job.createdAt),
  finished_at: isoOrNull(job.finishedAt),
  // The clocks of replicas may differ a little.
  duration_ms: job.finishedAt === null ? null : Math.max(0, job.finishedAt - job.createdAt),
  billing_status: billingStatus(job),
  charged_usd: formatUsd(job.charged),
  refunded_usd: formatUsd(job.refunded),
  net_spent_usd: formatUsd(job.charged - job.refunded),
  currency: 'USD',
  error: job.error === null ? null : { ...job.error },
});
