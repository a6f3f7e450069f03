import { credit } from '../../ledger/entries.ts';
import { accountIdField, positiveAmount } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { entryFields } from './entry-view.ts';
import { examplePosted, postedSchema, toPosted } from './posted-entry.ts';

export const creditAccount = operatorWrite({
  name: 'credit_account',
  title: 'Add a top-up',
  description: 'Adds money that a customer has paid to the balance of an account.',
  group: 'money',
  path: '/accounts/{account_id}/credit',
  fields: { account_id: accountIdField, amount_usd: positiveAmount, ...entryFields },
  output: postedSchema,
  answer: 'PostedEntry',
  example: {
    input: {
      account_id: examplePosted.entry.account_id,
      amount_usd: '25.00',
      reason: 'Invoice 2041',
      entry_id: examplePosted.entry.id,
    },
    answer: examplePosted,
  },
  errors: ['account_not_found', 'idempotency_conflict'],
  handle: async (input, services) => {
    const { account_id: accountId, amount_usd: amount, reason, entry_id: entryId } = input;
    const posting = { accountId, amount, reason, entryId };
    return toPosted(await credit(services, posting), posting);
  },
});
