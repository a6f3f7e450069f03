import { z } from 'zod';
import type { EntryWithModel } from '../../store/store.ts';
import { timeOf, usdOf } from '../answer-fields.ts';
import type { Services } from '../call.ts';
import { imageJobId } from '../images/image-examples.ts';
import { defineView, extensible } from '../view.ts';
import { historyOperation } from './history-page.ts';

/** The public form of a ledger entry (docs/contract.md, "Usage, history, receipts"), without the operator's note. */
export const transactionView = defineView<EntryWithModel, unknown>({
  amount_usd: 'Credits positive, debits negative.',
})({
  id: [z.string(), 'id', '0d9e8f7a-6b5c-4d3e-9f2a-1b0c9d8e7f6a'],
  type: [z.enum(['topup', 'debit', 'refund', 'adjustment']), 'type', 'debit'],
  amount_usd: usdOf('amount', '-0.04'),
  currency: [z.literal('USD'), () => 'USD' as const, 'USD'],
  created_at: timeOf('createdAt', '2026-11-20T09:30:06.412Z'),
  job_id: [z.string().nullable(), 'jobId', imageJobId],
  model: [z.string().nullable(), 'model', 'imagemodel-1.0'],
});

const topUp = {
  id: '1e0f9a8b-7c6d-4e4f-8a3b-2c1d0e9f8a7b',
  type: 'topup',
  amount_usd: '25.00',
  currency: 'USD',
  created_at: '2026-11-01T08:00:00.000Z',
  job_id: null,
  model: null,
};

export const listTransactions = historyOperation({
  name: 'list_transactions',
  title: 'List transactions',
  description: 'Top-ups, debits, refunds and adjustments of this account, newest first. Free.',
  path: '/v1/transactions',
  view: extensible(transactionView),
  answer: 'TransactionPage',
  example: { summary: 'The newest transactions', limit: 50, more: [topUp] },
  read: (position, _call, { store }: Pick<Services, 'store'>) => store.listEntries(position),
});
