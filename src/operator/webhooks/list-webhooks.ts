import { z } from 'zod';
import { idField } from '../../operations/id-field.ts';
import { limitField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { exampleWebhook, toWebhookView, webhookSchema, webhookStates } from './webhook-view.ts';

export const listWebhooks = operatorRead({
  name: 'list_webhooks',
  title: 'List webhooks',
  description: 'The webhooks that announce the ends of jobs, newest first.',
  group: 'webhooks',
  path: '/webhooks',
  fields: {
    account_id: idField.optional().describe('Only those of this account.'),
    job_id: idField.optional().describe('Only that of this job.'),
    state: z.enum(webhookStates).optional().describe('Only those in this state.'),
    limit: limitField(10_000, 100),
  },
  output: z.strictObject({ webhooks: z.array(webhookSchema), has_more: z.boolean() }),
  answer: 'WebhookPage',
  example: {
    input: { state: 'pending', limit: 100 },
    answer: { webhooks: [exampleWebhook], has_more: false },
  },
  errors: ['account_not_found'],
  handle: async ({ account_id: accountId, job_id: jobId, state, limit }, { store }) => {
    if (accountId !== undefined) requireFound(await store.getAccount(accountId), 'account', accountId);
    const found = await store.listWebhooks({
      accountId,
      jobId: jobId?.toLowerCase(),
      states: state && [state],
      limit: limit + 1,
    });
    return { webhooks: found.slice(0, limit).map(toWebhookView), has_more: found.length > limit };
  },
});
