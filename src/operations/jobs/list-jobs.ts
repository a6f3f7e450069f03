import type { Services } from '../call.ts';
import { z } from 'zod';
import { errorEnvelope, timeOf, timeOrNullOf, usd, usdOf } from '../answer-fields.ts';
import { imageJobId } from '../images/image-examples.ts';
import { historyOperation } from '../account/history-page.ts';
import { jobKinds, jobStatuses } from '../../rules/jobs.ts';
import { longestUsageTag, usageTagRule, usageTagText } from '../../accounts/usage-tags.ts';
import { instant } from '../account/get-usage.ts';
import { idField } from '../id-field.ts';
import { seesAllKeys } from '../keys/key-answer.ts';
import { forRest, unlisted } from '../schema-marks.ts';
import { invalidQuery } from '../validate.ts';
import type { JobSummary } from '../../store/store.ts';
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
  created_at: timeOf('createdAt', '2026-11-20T09:30:00.000Z'),
  finished_at: timeOrNullOf('finishedAt', '2026-11-20T09:30:06.412Z'),
  duration_ms: [
    z.int().min(0).nullable(),
    // The clocks of replicas may differ a little.
    ({ createdAt, finishedAt }) => (finishedAt === null ? null : Math.max(0, finishedAt - createdAt)),
    6412,
  ],
  billing_status: [z.enum(billingStatuses), (job) => billingStatus(job), 'charged'],
  charged_usd: usdOf('charged', '0.04'),
  refunded_usd: usdOf('refunded', '0.00'),
  net_spent_usd: [usd, ({ charged, refunded }) => formatUsd(charged - refunded), '0.04'],
  currency: [z.literal('USD'), () => 'USD' as const, 'USD'],
  error: [errorEnvelope.nullable(), ({ error }) => error && { ...error }, null],
});

/** What jobs are looked for by. */
export const jobFilters = {
  status: forRest(z.enum(jobStatuses).optional(), { description: 'In this state.' }),
  ...unlisted({
    kind: z.enum(jobKinds).optional().describe('Of this kind.'),
    model: idField.optional().describe('A SKU, or a mounted tool.'),
    key_id: idField.optional().describe('Made with this key or connection.'),
    tag: z
      .string()
      .max(longestUsageTag)
      .regex(usageTagText, usageTagRule)
      .optional()
      .describe('Counted under this tag.'),
    from: instant.optional().describe('Created at or after this time.'),
    to: instant.optional().describe('Created before this time.'),
  }),
};

export const listJobs = historyOperation({
  name: 'list_jobs',
  title: 'List jobs',
  description:
    'The jobs of all keys of this account, newest first, with what each cost. get_job and get_video read results. Free.',
  path: '/v1/jobs',
  filters: jobFilters,
  view: extensible(jobView),
  answer: 'JobPage',
  example: {
    summary: 'The newest jobs',
    limit: 50,
    nextCursor: 'eyJ2IjoxLCJwIjoiMjAyNi0xMS0yMFQwOTozMDowMC4wMDBaIn0',
  },
  read: async (
    { key_id: keyId, tag: usageTag, limit, ...search },
    { caller },
    { store }: Pick<Services, 'store'>,
  ) => {
    if (keyId !== undefined && keyId !== caller.keyId && !seesAllKeys(caller))
      throw invalidQuery('key_id', 'must be the key of this call, which sees no other keys');
    const { jobs, next } = await store.searchJobs({ ...search, keyId, usageTag, limit: limit - 1 });
    return { rows: jobs, next };
  },
});
