import { z } from 'zod';
import { issueKey as issue } from '../../accounts/issue-key.ts';
import { AppError } from '../../kit/errors.ts';
import { labelField, limitFields } from '../../operations/keys/key-fields.ts';
import { changeLimits, noLimits, noUse } from '../../store/commands/key-table.ts';
import { accountIdField } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { notFound } from '../require-found.ts';
import { exampleKey, keySchema, toKeyView } from './key-view.ts';
import { readKnownLimits } from './read-known-limits.ts';

export const issueKey = operatorWrite({
  name: 'issue_key',
  title: 'Issue a key',
  description:
    'Issues an API key for an active account, with limits if you like. The whole key is answered only this once.',
  group: 'keys',
  path: '/accounts/{account_id}/keys',
  fields: { account_id: accountIdField, label: labelField.default(''), ...limitFields },
  output: z.strictObject({
    key: z.string().describe('The whole key. It is shown only now.'),
    api_key: keySchema,
  }),
  answer: 'IssuedKey',
  example: {
    input: { account_id: exampleKey.account_id, label: 'nightly reports', budget_day_usd: '5.00' },
    answer: { key: 'sk_causeway_…', api_key: exampleKey },
  },
  errors: ['account_not_found', 'account_not_active'],
  handle: async ({ account_id: accountId, label, ...written }, services, callId) => {
    const limits = changeLimits(noLimits, await readKnownLimits(written, services));
    const issued = await issue(services, { id: callId, accountId, label, brand: services.brand, limits });
    switch (issued.outcome) {
      case 'no_account':
        throw notFound('account', accountId);
      case 'not_active':
        throw new AppError(
          'account_not_active',
          `The account is ${issued.account.status}. Approve it first.`,
        );
      case 'too_many':
        throw new Error('an operator has no limit of keys');
      case 'issued':
        return { key: issued.key, api_key: toKeyView({ ...issued.apiKey, ...noUse }) };
    }
  },
});
