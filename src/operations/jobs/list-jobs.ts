import { z } from 'zod';
import { billingStatuses } from '../../accounts/ledger/billing-status.ts';
import { toHistoryJob } from '../../accounts/ledger/to-history-job.ts';
import { errorEnvelope, time, usd } from '../answer-fields.ts';
import { imageJobId } from '../images/image-examples.ts';
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
  examples: [
    {
      summary: 'The newest jobs',
      parameters: { limit: 50 },
      status: 200,
      answer: {
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
        has_more: true,
        next_cursor: 'eyJ2IjoxLCJwIjoiMjAyNi0xMS0yMFQwOTozMDowMC4wMDBaIn0',
      },
    },
  ],
  read: (position, _call, { store }) => store.listJobs(position),
  toItem: toHistoryJob,
});
