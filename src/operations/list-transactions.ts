import { z } from 'zod';
import { toTransaction } from '../ledger/to-transaction.ts';
import type { EntryWithModel } from '../store/store.ts';
import { answerPage, pageInput, pageSchema, type HistoryList } from './history-page.ts';
import type { ReadOperation } from './operation.ts';

const item = z.looseObject({
  id: z.string(),
  type: z.enum(['topup', 'debit', 'refund', 'adjustment']),
  amount_usd: z.string().describe('Credits positive, debits negative.'),
  currency: z.literal('USD'),
  created_at: z.string(),
  job_id: z.string().nullable(),
  model: z.string().nullable(),
});

const transactions: HistoryList<EntryWithModel> = {
  name: 'list_transactions',
  read: (position, { store }) => store.listEntries(position),
  toItem: toTransaction,
};

export const listTransactions: ReadOperation<z.infer<typeof pageInput>> = {
  name: transactions.name,
  title: 'List transactions',
  description: 'Top-ups, debits, refunds and adjustments of this account, newest first. Free.',
  group: 'generation',
  payment: 'none',
  input: pageInput,
  output: pageSchema(item),
  rest: {
    method: 'GET',
    path: '/v1/transactions',
    query: ['limit', 'cursor'],
    validation: 'envelope',
    errors: ['invalid_api_key', 'invalid_cursor', 'invalid_parameter', 'rate_limit_exceeded'],
  },
  tool: { unlisted: [], readOnly: true, idempotent: true, openWorld: false },
  handle: (input, call, services) => answerPage(transactions, input, call, services),
};
