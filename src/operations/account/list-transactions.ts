import { z } from 'zod';
import { toTransaction } from '../../ledger/to-transaction.ts';
import { time, usd } from '../answer-fields.ts';
import { listTransactionsExamples } from './account-examples.ts';
import { historyOperation } from './history-page.ts';

const item = z.looseObject({
  id: z.string(),
  type: z.enum(['topup', 'debit', 'refund', 'adjustment']),
  amount_usd: usd.describe('Credits positive, debits negative.'),
  currency: z.literal('USD'),
  created_at: time,
  job_id: z.string().nullable(),
  model: z.string().nullable(),
});

export const listTransactions = historyOperation({
  name: 'list_transactions',
  title: 'List transactions',
  description: 'Top-ups, debits, refunds and adjustments of this account, newest first. Free.',
  path: '/v1/transactions',
  item,
  answer: 'TransactionPage',
  examples: listTransactionsExamples,
  read: (position, { store }) => store.listEntries(position),
  toItem: toTransaction,
});
