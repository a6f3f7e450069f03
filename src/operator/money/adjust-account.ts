import { adjust } from '../../ledger/entries.ts';
import { accountIdField, signedAmount } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { entryFields } from './entry-view.ts';
import { examplePosted, postedSchema, toPosted } from './posted-entry.ts';

export const adjustAccount = operatorWrite({
  name: 'adjust_account',
  title: 'Correct a balance',
  description:
    'Corrects the balance of an account by an amount with a sign. At most the available balance can be taken.',
  group: 'money',
  path: '/accounts/{account_id}/adjust',
  fields: { account_id: accountIdField, amount_usd: signedAmount, ...entryFields },
  output: postedSchema,
  answer: 'PostedEntry',
  example: {
    input: {
      account_id: examplePosted.entry.account_id,
      amount_usd: '-5.00',
      reason: 'Credited twice',
      entry_id: examplePosted.entry.id,
    },
    answer: {
      entry: { ...examplePosted.entry, type: 'adjustment', amount_usd: '-5.00', reason: 'Credited twice' },
      balance_usd: '20.00',
    },
  },
  errors: ['account_not_found', 'insufficient_balance', 'idempotency_conflict'],
  handle: async (input, services) => {
    const { account_id: accountId, amount_usd: amount, reason, entry_id: entryId } = input;
    const posting = { accountId, amount, reason, entryId };
    return toPosted(await adjust(services, posting), posting);
  },
});
