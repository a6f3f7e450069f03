import type { Services } from '../call.ts';
import { z } from 'zod';
import { time, usd } from '../answer-fields.ts';
import { imageJobId } from '../images/image-examples.ts';
import { historyOperation } from './history-page.ts';
import { toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd } from '../../kit/money.ts';
import type { EntryWithModel } from '../../store/store.ts';

const item = z.looseObject({
  id: z.string(),
  type: z.enum(['topup', 'debit', 'refund', 'adjustment']),
  amount_usd: usd.describe('Credits positive, debits negative.'),
  currency: z.literal('USD'),
  created_at: time,
  job_id: z.string().nullable(),
  model: z.string().nullable(),
});

/** Makes the public form of a ledger entry (docs/contract.md, "History"), without the operator's note. */
const toTransaction = (entry: EntryWithModel): JsonObject => ({
  id: entry.id,
  type: entry.type,
  amount_usd: formatUsd(entry.amount),
  currency: 'USD',
  created_at: toIso(entry.createdAt),
  job_id: entry.jobId,
  model: entry.model,
});

export const listTransactions = historyOperation({
  name: 'list_transactions',
  title: 'List transactions',
  description: 'Top-ups, debits, refunds and adjustments of this account, newest first. Free.',
  path: '/v1/transactions',
  item,
  answer: 'TransactionPage',
  example: {
    summary: 'The newest transactions',
    limit: 50,
    data: [
      {
        id: '0d9e8f7a-6b5c-4d3e-9f2a-1b0c9d8e7f6a',
        type: 'debit',
        amount_usd: '-0.04',
        currency: 'USD',
        created_at: '2026-11-20T09:30:06.412Z',
        job_id: imageJobId,
        model: 'imagemodel-1.0',
      },
      {
        id: '1e0f9a8b-7c6d-4e4f-8a3b-2c1d0e9f8a7b',
        type: 'topup',
        amount_usd: '25.00',
        currency: 'USD',
        created_at: '2026-11-01T08:00:00.000Z',
        job_id: null,
        model: null,
      },
    ],
  },
  read: (position, _call, { store }: Pick<Services, 'store'>) => store.listEntries(position),
  toItem: toTransaction,
});
