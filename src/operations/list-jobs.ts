import { z } from 'zod';
import { billingStatuses } from '../ledger/billing-status.ts';
import { toHistoryJob } from '../ledger/to-history-job.ts';
import type { JobSummary } from '../store/store.ts';
import { answerPage, pageInput, pageSchema, type HistoryList } from './history-page.ts';
import type { ReadOperation } from './operation.ts';

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

const jobs: HistoryList<JobSummary> = {
  name: 'list_jobs',
  read: (position, { store }) => store.listJobs(position),
  toItem: toHistoryJob,
};

export const listJobs: ReadOperation<z.infer<typeof pageInput>> = {
  name: jobs.name,
  title: 'List jobs',
  description:
    'The jobs of this account, of all its keys, newest first, with what each cost. Results are read with get_job ' +
    'and get_video. Free.',
  group: 'generation',
  payment: 'none',
  input: pageInput,
  output: pageSchema(item),
  rest: {
    method: 'GET',
    path: '/v1/jobs',
    query: ['limit', 'cursor'],
    validation: 'envelope',
    errors: ['invalid_api_key', 'invalid_cursor', 'invalid_parameter', 'rate_limit_exceeded'],
  },
  tool: { unlisted: [], readOnly: true, idempotent: true, openWorld: false },
  handle: (input, call, services) => answerPage(jobs, input, call, services),
};
