import type { Services } from '../call.ts';
import { z } from 'zod';
import { errorEnvelope, time, usd } from '../answer-fields.ts';
import { imageJobId } from '../images/image-examples.ts';
import { historyOperation } from '../account/history-page.ts';
import type { JobSummary } from '../../store/store.ts';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd } from '../../kit/money.ts';

/** The public states of a job's price. */
export const billingStatuses = [
  'pending',
  'not_charged',
  'charged',
  'partially_refunded',
  'refunded',
] as const;

/** Returns `pending` while the hold is open. After that the captured and the refunded amount decide. */
export const billingStatus = ({
  holdState,
  charged,
  refunded,
}: Pick<JobSummary, 'holdState' | 'charged' | 'refunded'>): (typeof billingStatuses)[number] => {
  if (holdState === 'open') return 'pending';
  if (charged === 0n) return 'not_charged';
  if (refunded === 0n) return 'charged';
  return refunded < charged ? 'partially_refunded' : 'refunded';
};

const item = z.looseObject({
  id: z.string(),
  model: z.string(),
  kind: z.string(),
  status: z.enum(['queued', 'running', 'done', 'failed']),
  created_at: time,
  finished_at: time.nullable(),
  duration_ms: z.int().min(0).nullable(),
  billing_status: z.enum(billingStatuses),
  charged_usd: usd,
  refunded_usd: usd,
  net_spent_usd: usd,
  currency: z.literal('USD'),
  error: errorEnvelope.nullable(),
});

/** Makes a job's history row (docs/contract.md, "History"), without input, result and upstream. */
const toHistoryJob = (job: JobSummary): JsonObject => ({
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

export const listJobs = historyOperation({
  name: 'list_jobs',
  title: 'List jobs',
  description:
    'The jobs of this account, of all its keys, newest first, with what each cost. Results are read with get_job ' +
    'and get_video. Free.',
  path: '/v1/jobs',
  item,
  answer: 'JobPage',
  example: {
    summary: 'The newest jobs',
    limit: 50,
    data: [
      {
        id: imageJobId,
        model: 'imagemodel-1.0',
        kind: 'image',
        status: 'done',
        created_at: '2026-11-20T09:30:00.000Z',
        finished_at: '2026-11-20T09:30:06.412Z',
        duration_ms: 6412,
        billing_status: 'charged',
        charged_usd: '0.04',
        refunded_usd: '0.00',
        net_spent_usd: '0.04',
        currency: 'USD',
        error: null,
      },
    ],
    nextCursor: 'eyJ2IjoxLCJwIjoiMjAyNi0xMS0yMFQwOTozMDowMC4wMDBaIn0',
  },
  read: (position, _call, { store }: Pick<Services, 'store'>) => store.listJobs(position),
  toItem: toHistoryJob,
});
