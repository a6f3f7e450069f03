import { usageExample, usageFields, usageOf, usageOutput } from '../../operations/account/get-usage.ts';
import { accountIdField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { exampleEntry } from './entry-view.ts';

const { account_id: exampleId } = exampleEntry;

export const getUsage = operatorRead({
  name: 'get_account_usage',
  title: 'Sum up the usage of an account',
  description:
    'How many jobs an account created in a time and what they cost, in all and by model, kind and day.',
  group: 'money',
  path: '/accounts/{account_id}/usage',
  fields: { account_id: accountIdField, ...usageFields },
  output: usageOutput,
  answer: 'Usage',
  example: { input: { account_id: exampleId, ...usageExample.parameters }, answer: usageExample.answer },
  errors: ['account_not_found', 'invalid_range'],
  handle: async ({ account_id: accountId, ...span }, services) => {
    requireFound(await services.store.getAccount(accountId), 'account', accountId);
    return usageOf(span, accountId, services);
  },
});
