import { z } from 'zod';
import { idField } from '../../operations/id-field.ts';
import { limitField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { accountSchema, exampleAccount, toAccountView } from './account-view.ts';

export const listAccounts = operatorRead({
  name: 'list_accounts',
  title: 'List accounts',
  description: 'Accounts and their balances, oldest first.',
  group: 'accounts',
  path: '/accounts',
  fields: {
    limit: limitField(10_000, 1_000),
    after: idField.optional().describe('The id of the last account of the page before.'),
  },
  output: z.strictObject({ accounts: z.array(accountSchema), has_more: z.boolean() }),
  answer: 'AccountPage',
  example: { input: { limit: 100 }, answer: { accounts: [exampleAccount], has_more: false } },
  errors: ['account_not_found'],
  handle: async ({ limit, after: afterId }, { store }) => {
    if (afterId !== undefined) requireFound(await store.getAccount(afterId), 'account', afterId);
    const found = await store.listAccounts({ limit: limit + 1, afterId });
    return { accounts: found.slice(0, limit).map(toAccountView), has_more: found.length > limit };
  },
});
