import { z } from 'zod';
import { rotateWebhookSecret as rotate } from '../../jobs/webhooks/webhook-secrets.ts';
import { addTestWebhook } from '../../jobs/webhooks/add-test-webhook.ts';
import { isoOrNull } from '../../kit/clock.ts';
import { wrongField } from '../../kit/errors.ts';
import { newId } from '../../kit/ids.ts';
import type { JsonObject } from '../../kit/json.ts';
import { historyOperation } from '../account/history-page.ts';
import { time } from '../answer-fields.ts';
import { privateAnswer } from '../answer.ts';
import type { AccountCall, Services } from '../call.ts';
import { readOperation, type ReadParts } from '../define-operation.ts';
import type { ReadOperation } from '../definition.ts';
import { idField } from '../id-field.ts';
import { assertUnlimited } from '../keys/key-answer.ts';
import type { EventDocs } from '../operation-docs.ts';
import { assertWebhooks, checkWebhookUrl, maxUrlCharacters } from '../webhook-url.ts';
import { deliveryView } from './delivery-view.ts';

const { example } = deliveryView;

export const listDeliveries = historyOperation({
  name: 'list_webhook_deliveries',
  title: 'List webhooks',
  description: 'The webhooks of this account with how their delivery went, newest first. Free.',
  path: '/v1/webhooks/deliveries',
  view: deliveryView,
  answer: 'WebhookDeliveryPage',
  example: { summary: 'The newest webhooks', limit: 50 },
  tool: null,
  read: (page, _call, { store }: Pick<Services, 'store'>) => store.listDeliveries(page),
});

interface Parts<Input> extends Omit<ReadParts<Input, WebhookServices>, 'tool' | 'handle'> {
  change(input: Input, call: AccountCall, services: WebhookServices): Promise<JsonObject>;
}
type WebhookServices = Pick<Services, 'store' | 'clock' | 'config' | 'accountLimiter'>;

/**
 * Makes an operation that changes something of the account's webhooks, by default with POST. It is no tool, and none for a
 * key with limits.
 */
export const webhookOperation = <Input>({
  errors = [],
  change,
  ...parts
}: Parts<Input>): ReadOperation<Input, WebhookServices> =>
  readOperation<Input, WebhookServices>({
    method: 'POST',
    ...parts,
    errors: ['permission_denied', ...errors],
    tool: null,
    handle: async (input, call, services) => {
      assertUnlimited(call.caller, 'manage webhooks');
      return privateAnswer(await change(input, call, services));
    },
  });

/** The events that an account may have sent by its own calls in a minute. */
const sendsPerMinute = 10;

/** Counts an event that a call has sent. Throws AppError `rate_limit_exceeded`. */
const countSend = async (
  { caller: { accountId } }: AccountCall,
  { accountLimiter }: Pick<Services, 'accountLimiter'>,
): Promise<void> => {
  await accountLimiter.consume(accountId, sendsPerMinute, 'webhooks by hand');
};

const noSuchEvent = 'event_id: this account has no such webhook. See GET /v1/webhooks/deliveries.';

/** Reads a webhook of the account with its last attempt. Throws AppError `not_found`. */
const showDelivery = async (
  own: { id: string; accountId: string },
  { store }: Pick<Services, 'store'>,
): Promise<JsonObject> => {
  const delivery = await store.getDelivery(own);
  if (delivery === null) throw wrongField('not_found', 'event_id', noSuchEvent);
  return deliveryView.show(delivery, null) as JsonObject;
};

export const redeliverWebhook = webhookOperation({
  name: 'redeliver_webhook',
  title: 'Send a webhook again',
  description:
    'Sends a webhook of this account again, in any state, with the same event_id and body, and all attempts anew. At most ' +
    `${sendsPerMinute} a minute, with test events. Not with a key that has limits. Free.`,
  input: z.object({ event_id: idField.max(128).describe('The id of the event.') }),
  output: deliveryView.schema,
  path: '/v1/webhooks/deliveries/{event_id}/redeliver',
  isBodyOptional: true,
  errors: ['not_found'],
  docs: {
    answer: 'WebhookDelivery',
    examples: [
      {
        summary: 'A webhook that is due again',
        parameters: { event_id: '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90' },
        answer: { ...example, attempts: 0 },
      },
    ],
    wrong: { event_id: 'x'.repeat(129) },
    errors: {
      not_found: { when: 'The account has no such webhook.', message: noSuchEvent, param: 'event_id' },
    },
  },
  change: async ({ event_id: given }, call, services) => {
    const own = { id: given.toLowerCase(), accountId: call.caller.accountId };
    await showDelivery(own, services);
    await countSend(call, services);
    await services.store.redeliverWebhook({
      eventId: own.id,
      accountId: own.accountId,
      now: services.clock.now(),
    });
    return showDelivery(own, services);
  },
});

const testEvent: EventDocs = {
  name: 'webhook_test',
  summary: 'A test event that the account asked for',
  when: 'Sent to the url of the call, signed as every event.',
  schemaName: 'TestEvent',
  schema: z
    .looseObject({ event_id: z.string(), type: z.literal('webhook.test'), created_at: time })
    .describe('A test event.'),
  example: {
    event_id: '019ab1c2-4e5f-7061-8b9c-1d2e3f4a5b6c',
    type: 'webhook.test',
    created_at: '2026-11-20T09:30:06.412Z',
  },
};

export const testWebhook = webhookOperation({
  name: 'test_webhook',
  title: 'Send a test event',
  description:
    'Sends a signed test event to an address, once; the list of webhooks tells how it went. At most ' +
    `${sendsPerMinute} a minute, with those sent again. Not with a key that has limits. Free.`,
  input: z.strictObject({
    url: z.string().min(1).max(maxUrlCharacters).describe('Public HTTPS address of the receiver.'),
  }),
  output: deliveryView.schema,
  path: '/v1/webhooks/test',
  isStrict: true,
  errors: ['webhook_temporarily_unavailable'],
  docs: {
    answer: 'WebhookDelivery',
    event: testEvent,
    examples: [
      {
        summary: 'A test event',
        body: { url: 'https://shop.example/hooks/images' },
        answer: {
          ...example,
          event: 'webhook.test',
          job_id: null,
          attempts: 0,
          last_status: null,
          last_error: null,
        },
      },
    ],
    wrong: { url: '' },
  },
  change: async ({ url }, call, services) => {
    const { config } = services;
    checkWebhookUrl(url, config, 'url');
    assertWebhooks(url, config, 'url');
    await countSend(call, services);
    const own = { id: newId(), accountId: call.caller.accountId };
    await addTestWebhook(services, { ...own, url });
    return showDelivery(own, services);
  },
});

export const rotateWebhookSecret = webhookOperation({
  name: 'rotate_webhook_secret',
  title: 'Get a new signing secret',
  description:
    'Makes a new secret that signs the webhooks of this account. For 24 hours the previous one signs each event, too, and ' +
    'a repeated call changes nothing. Not with a key that has limits. Free.',
  input: z.object({
    again: z
      .boolean()
      .default(false)
      .describe('Make another secret within the 24 hours, too. The oldest one then ends at once.'),
  }),
  output: z.looseObject({
    webhook_secret: z.string(),
    previous_signs_until: time.nullable().describe('Null: there was no secret before.'),
  }),
  path: '/v1/webhooks/secret/rotate',
  isBodyOptional: true,
  docs: {
    answer: 'RotatedWebhookSecret',
    examples: [
      {
        summary: 'A new secret',
        answer: {
          webhook_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwYzcH5hPLv3s=',
          previous_signs_until: '2026-11-21T09:30:00.000Z',
        },
      },
    ],
  },
  change: async (input, { caller: { accountId } }, services) => {
    const secrets = await rotate(services, accountId, input);
    if (secrets === null) throw new Error(`the account ${accountId} of a caller is not in the store`);
    return {
      webhook_secret: secrets.current,
      previous_signs_until: isoOrNull(secrets.previous?.until ?? null),
    };
  },
});
