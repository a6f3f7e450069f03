import { z } from 'zod';
import { idField } from '../../operations/id-field.ts';
import { operatorWrite } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { exampleWebhook, toWebhookView, webhookSchema } from './webhook-view.ts';

export const redeliverWebhook = operatorWrite({
  name: 'redeliver_webhook',
  title: 'Send a webhook again',
  description:
    'Makes a webhook due at once, in any state, with the full number of attempts. The gateway sends it with the same ' +
    'event_id and the same body.',
  group: 'webhooks',
  path: '/webhooks/{event_id}/redeliver',
  fields: { event_id: idField.describe('The id of the event.') },
  output: z.strictObject({ webhook: webhookSchema }),
  answer: 'RedeliveredWebhook',
  example: {
    input: { event_id: exampleWebhook.event_id },
    answer: { webhook: { ...exampleWebhook, attempts: 0 } },
  },
  errors: ['webhook_not_found'],
  handle: async ({ event_id: given }, { store, clock }) => {
    const webhook = await store.redeliverWebhook({ eventId: given.toLowerCase(), now: clock.now() });
    return { webhook: toWebhookView(requireFound(webhook, 'webhook', given)) };
  },
});
