import { z } from 'zod';
import { toEntryView, entrySchema, exampleEntry } from './entry-view.ts';
import { idField } from '../../operations/id-field.ts';
import { accountIdField, limitField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';

const transaction = entrySchema.extend({ model: z.string().nullable().describe('The SKU of the job.') });

export const listTransactions = operatorRead({
  name: 'list_account_transactions',
  title: 'List the transactions of an account',
  description: 'Top-ups, debits, refunds and adjustments of an account, newest first.',
  group: 'money',
  path: '/accounts/{account_id}/transactions',
  fields: {
    account_id: accountIdField,
    limit: limitField(1_000, 100),
    after: idField.optional().describe('The id of the last transaction of the page before.'),
  },
  output: z.strictObject({ transactions: z.array(transaction), has_more: z.boolean() }),
  answer: 'TransactionPage',
  example: {
    input: { account_id: exampleEntry.account_id, limit: 100 },
    answer: { transactions: [{ ...exampleEntry, model: null }], has_more: false },
  },
  errors: ['account_not_found', 'entry_not_found'],
  handle: async ({ account_id: accountId, limit, after }, { store }) => {
    requireFound(await store.getAccount(accountId), 'account', accountId);
    const before = after === undefined ? null : requireFound(await store.getEntry(after), 'entry', after);
    const found = await store.listEntries({ accountId, limit: limit + 1, before });
    return {
      transactions: found.slice(0, limit).map((entry) => ({ ...toEntryView(entry), model: entry.model })),
      has_more: found.length > limit,
    };
  },
});
