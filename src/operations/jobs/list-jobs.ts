import { z } from 'zod';
import { billingStatuses } from '../../ledger/billing-status.ts';
import { toHistoryJob } from '../../ledger/to-history-job.ts';
import { historyOperation } from '../account/history-page.ts';

const item = z.looseObject({
  id: z.string(),
  model: z.string(),
  kind: z.string(),
  status: z.enum(['queued', 'running', 'done', 'failed']),
  created_at: z.string(),
  finished_at: z.string().nullable(),
  duration_ms: z.int().min(0).nullable(),
  billing_status: z.enum(billingStatuses),
  charged_usd: z.string(),
  refunded_usd: z.string(),
  net_spent_usd: z.string(),
  currency: z.literal('USD'),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
});

export const listJobs = historyOperation({
  name: 'list_jobs',
  title: 'List jobs',
  description:
    'The jobs of this account, of all its keys, newest first, with what each cost. Results are read with get_job ' +
    'and get_video. Free.',
  path: '/v1/jobs',
  item,
  read: (position, { store }) => store.listJobs(position),
  toItem: toHistoryJob,
});
