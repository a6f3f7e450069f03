import type { Services } from '../call.ts';
import { z } from 'zod';
import { errorEnvelope, time, usd } from '../answer-fields.ts';
import { imageJobId } from '../images/image-examples.ts';
import { historyOperation } from '../account/history-page.ts';
import { jobStatuses } from '../../rules/jobs.ts';
import type { JobSummary } from '../../store/store.ts';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { formatUsd } from '../../kit/money.ts';
import { defineView, extensible } from '../view.ts';

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

/** A job in a history (docs/contract.md, "Usage, history, receipts"), without input, result and upstream. */
export const jobView = defineView<JobSummary, unknown>()({
  id: [z.string(), 'id', imageJobId],
  model: [z.string(), 'model', 'imagemodel-1.0'],
  kind: [z.string(), 'kind', 'image'],
  status: [z.enum(jobStatuses), 'status', 'done'],
  created_at: [time, ({ createdAt }) => toIso(createdAt), '2026-11-20T09:30:00.000Z'],
  finished_at: [time.nullable(), ({ finishedAt }) => isoOrNull(finishedAt), '2026-11-20T09:30:06.412Z'],
  duration_ms: [
    z.int().min(0).nullable(),
    // The clocks of replicas may differ a little.
    ({ createdAt, finishedAt }) => (finishedAt === null ? null : Math.max(0, finishedAt - createdAt)),
    6412,
  ],
  billing_status: [z.enum(billingStatuses), (job) => billingStatus(job), 'charged'],
  charged_usd: [usd, ({ charged }) => formatUsd(charged), '0.04'],
  refunded_usd: [usd, ({ refunded }) => formatUsd(refunded), '0.00'],
  net_spent_usd: [usd, ({ charged, refunded }) => formatUsd(charged - refunded), '0.04'],
  currency: [z.literal('USD'), () => 'USD' as const, 'USD'],
  error: [errorEnvelope.nullable(), ({ error }) => error && { ...error }, null],
});

export const listJobs = historyOperation({
  name: 'list_jobs',
  title: 'List jobs',
  description:
    'The jobs of this account, of all its keys, newest first, with what each cost. Results are read with get_job ' +
    'and get_video. Free.',
  path: '/v1/jobs',
  view: extensible(jobView),
  answer: 'JobPage',
  example: {
    summary: 'The newest jobs',
    limit: 50,
    nextCursor: 'eyJ2IjoxLCJwIjoiMjAyNi0xMS0yMFQwOTozMDowMC4wMDBaIn0',
  },
  read: (position, _call, { store }: Pick<Services, 'store'>) => store.listJobs(position),
});
