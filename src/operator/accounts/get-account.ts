import { z } from 'zod';
import { accountIdField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { accountSchema, exampleAccount, toAccountView } from './account-view.ts';

export const getAccount = operatorRead({
  name: 'get_account',
  title: 'Read an account',
  description: 'One account and its balance.',
  group: 'accounts',
  path: '/accounts/{account_id}',
  fields: { account_id: accountIdField },
  output: z.strictObject({ account: accountSchema }),
  answer: 'AccountAnswer',
  example: { input: { account_id: exampleAccount.id }, answer: { account: exampleAccount } },
  errors: ['account_not_found'],
  handle: async ({ account_id: accountId }, { store }) => ({
    account: toAccountView(requireFound(await store.getAccount(accountId), 'account', accountId)),
  }),
});
