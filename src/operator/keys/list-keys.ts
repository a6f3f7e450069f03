import { z } from 'zod';
import { accountIdField, limitField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { exampleKey, keySchema, toKeyView } from './key-view.ts';

export const listKeys = operatorRead({
  name: 'list_keys',
  title: 'List the keys of an account',
  description: 'The newest API keys of an account with their limits and use, newest first.',
  group: 'keys',
  path: '/accounts/{account_id}/keys',
  fields: { account_id: accountIdField, limit: limitField(10_000, 1_000) },
  output: z.strictObject({ api_keys: z.array(keySchema), has_more: z.boolean() }),
  answer: 'KeyList',
  example: {
    input: { account_id: exampleKey.account_id },
    answer: { api_keys: [exampleKey], has_more: false },
  },
  errors: ['account_not_found'],
  handle: async ({ account_id: accountId, limit }, { store, clock }) => {
    requireFound(await store.getAccount(accountId), 'account', accountId);
    const found = await store.listKeys({ accountId, limit: limit + 1, before: null, now: clock.now() });
    return { api_keys: found.slice(0, limit).map(toKeyView), has_more: found.length > limit };
  },
});
