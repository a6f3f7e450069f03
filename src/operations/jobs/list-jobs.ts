import { z } from 'zod';
import { billingStatuses } from '../../ledger/billing-status.ts';
import { toHistoryJob } from '../../ledger/to-history-job.ts';
import { errorEnvelope, time, usd } from '../answer-fields.ts';
import { listJobsExamples } from './job-examples.ts';
import { historyOperation } from '../account/history-page.ts';

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

export const listJobs = historyOperation({
  name: 'list_jobs',
  title: 'List jobs',
  description:
    'The jobs of this account, of all its keys, newest first, with what each cost. Results are read with get_job ' +
    'and get_video. Free.',
  path: '/v1/jobs',
  item,
  answer: 'JobPage',
  examples: listJobsExamples,
  read: (position, { store }) => store.listJobs(position),
  toItem: toHistoryJob,
});
