import { z } from 'zod';
import { idField } from '../../operations/id-field.ts';
import { operatorRead } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import {
  attemptSchema,
  exampleWebhook,
  toAttemptView,
  toWebhookView,
  webhookSchema,
} from './webhook-view.ts';

export const getWebhook = operatorRead({
  name: 'get_webhook',
  title: 'Read a webhook and its attempts',
  description:
    'A webhook with its address and its delivery attempts, oldest first. Its body, which has the result URLs, is not shown.',
  group: 'webhooks',
  path: '/webhooks/{event_id}',
  fields: { event_id: idField.describe('The id of the event.') },
  output: z.strictObject({ webhook: webhookSchema, attempts: z.array(attemptSchema) }),
  answer: 'WebhookWithAttempts',
  example: {
    input: { event_id: exampleWebhook.event_id },
    answer: {
      webhook: exampleWebhook,
      attempts: [{ at: '2026-11-20T09:30:06.500Z', duration_ms: 520, http_status: 503, failure: null }],
    },
  },
  errors: ['webhook_not_found'],
  handle: async ({ event_id: given }, { store }) => {
    const eventId = given.toLowerCase();
    const webhook = requireFound(await store.getWebhook(eventId), 'webhook', given);
    const attempts = await store.listWebhookAttempts(eventId);
    return { webhook: toWebhookView(webhook), attempts: attempts.map(toAttemptView) };
  },
});
