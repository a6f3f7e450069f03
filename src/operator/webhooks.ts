import { z } from 'zod';
import { rotateWebhookSecret as rotate } from '../jobs/webhooks/webhook-secrets.ts';
import { addTestWebhook } from '../jobs/webhooks/add-test-webhook.ts';
import { toIso } from '../kit/clock.ts';
import { AppError } from '../kit/errors.ts';
import { count, time, timeOf } from '../operations/answer-fields.ts';
import { idField } from '../operations/id-field.ts';
import { alertEvents, webhookEvents } from '../store/commands/webhook-names.ts';
import type { WebhookAttempt, WebhookEvent } from '../store/store.ts';
import { exampleAccountId, accountIdField, limitField } from './fields.ts';
import { requireFound, readVerb, writeVerb, type Shown } from './verb.ts';
import { defineView, like, toPage } from '../operations/view.ts';
import { eventView, webhookState } from '../operations/webhooks/delivery-view.ts';
import { formatTable } from './format-table.ts';

export const webhookView = defineView<WebhookEvent>({ account_id: 'Null: it is an alert for the operator.' })(
  {
    event: [z.enum([...webhookEvents, ...alertEvents]), 'event', 'job.finished'],
    ...eventView.members,
    account_id: [z.string().nullable(), 'accountId', exampleAccountId],
    url: [z.string(), 'url', 'https://shop.example/hooks/images'],
  },
);

const exampleId = webhookView.example.event_id;

const attemptView = defineView<WebhookAttempt>()({
  at: timeOf('at', '2026-11-20T09:30:06.500Z'),
  duration_ms: [count, 'durationMs', 520],
  http_status: [z.int().nullable(), 'httpStatus', 503],
  failure: [z.string().nullable(), 'failure', null],
});

const columns = 'event_id=ID event state >attempts next_attempt_at=NEXT created_at host';

const row = (webhook: typeof webhookView.example) => ({ ...webhook, host: URL.parse(webhook.url)?.host });

const attemptColumns = 'at=ATTEMPT >duration_ms=TOOK_MS http_status=STATUS failure';

const ofEvent = {
  fields: { event_id: idField.describe('The id of the event.') },
  example: { event_id: exampleId },
  errors: ['webhook_not_found'],
} as const;

export const listWebhooks = readVerb({
  name: 'list_webhooks',
  title: 'List webhooks',
  description: 'The webhooks of all accounts with the states of their delivery, newest first.',
  path: '/webhooks',
  fields: {
    account_id: idField.optional().describe('Only those of this account.'),
    job_id: idField.optional().describe('Only that of this job.'),
    state: webhookState.optional().describe('Only those in this state.'),
    limit: limitField(10_000, 100),
  },
  output: z.strictObject({ webhooks: z.array(webhookView.schema), has_more: z.boolean() }),
  answer: 'WebhookPage',
  example: { state: 'pending', limit: 100 },
  errors: ['account_not_found'],
  command: {
    usage: 'webhooks list [--account <account>] [--job <job>] [--state <state>] [--limit <count>]',
    more: 'ATTEMPTS counts since the event was made, or was last sent again.',
    examples: [`--state exhausted --json | jq -r '.webhooks[].event_id'`],
    table: { columns, row, none: 'There are no such webhooks.' },
  },
  handle: async ({ account_id: accountId, job_id: jobId, state, limit }, { store }) => {
    if (accountId !== undefined) requireFound(await store.getAccount(accountId), 'account', accountId);
    const found = await store.listWebhooks({
      accountId,
      jobId: jobId?.toLowerCase(),
      states: state && [state],
      limit: limit + 1,
    });
    return toPage('webhooks', found, { limit, show: webhookView.show });
  },
});

export const getWebhook = readVerb({
  ...ofEvent,
  name: 'get_webhook',
  title: 'Read a webhook and its attempts',
  description:
    'A webhook with its address and its delivery attempts, oldest first. Its body, which has the result URLs, is not shown.',
  path: '/webhooks/{event_id}',
  output: z.strictObject({ webhook: webhookView.schema, attempts: z.array(attemptView.schema) }),
  answer: 'WebhookWithAttempts',
  command: {
    usage: 'webhooks show <event>',
    examples: [`${exampleId} --json | jq .attempts`],
    show: ({ webhook, attempts }) =>
      [
        formatTable(columns, [row(webhook)]),
        `To ${webhook.url}\nOf ${webhook.account_id === null ? 'the operator' : `account ${webhook.account_id}`}${webhook.job_id === null ? '' : `, for job ${webhook.job_id}`}`,
        attempts.length === 0 ? 'Nothing has been sent yet.' : formatTable(attemptColumns, attempts),
      ].join('\n\n'),
  },
  handle: async ({ event_id: given }, { store }) => {
    const eventId = given.toLowerCase();
    const webhook = requireFound(await store.getWebhook(eventId), 'webhook', given);
    const attempts = await store.listWebhookAttempts(eventId);
    return { webhook: webhookView.show(webhook), attempts: attempts.map((one) => attemptView.show(one)) };
  },
});

const showDue = ({ webhook: { event_id: id } }: { webhook: typeof webhookView.example }): Shown => ({
  text: `${id} is due now.`,
  remark: `To see its delivery: causeway webhooks show ${id}`,
});

const dueWebhook = { output: z.strictObject({ webhook: webhookView.schema }), answer: 'DueWebhook' } as const;

export const redeliverWebhook = writeVerb({
  ...ofEvent,
  name: 'redeliver_webhook',
  title: 'Send a webhook again',
  description:
    'Makes a webhook due at once, in any state, with the full number of attempts. The gateway sends it with the same ' +
    'event_id and the same body.',
  path: '/webhooks/{event_id}/redeliver',
  ...dueWebhook,
  exampleAnswer: { webhook: { ...webhookView.example, attempts: 0 } },
  command: {
    usage: 'webhooks redeliver <event>',
    more: `All of a list are sent with "webhooks list --json | jq -r '.webhooks[].event_id' | xargs -n 1 causeway webhooks redeliver".`,
    show: showDue,
  },
  handle: async ({ event_id: given }, { store, clock }) => {
    const webhook = await store.redeliverWebhook({ eventId: given.toLowerCase(), now: clock.now() });
    return { webhook: webhookView.show(requireFound(webhook, 'webhook', given)) };
  },
});

export const testAlert = writeVerb({
  ...dueWebhook,
  name: 'test_alert',
  title: 'Send a test event to where alerts go',
  description: 'Sends a signed event of the type webhook.test to ALERT_WEBHOOK_URL, once.',
  path: '/alerts/test',
  fields: {},
  exampleAnswer: {
    webhook: { ...webhookView.example, event: 'webhook.test', account_id: null, job_id: null, attempts: 0 },
  },
  errors: ['invalid_setting'],
  command: { usage: 'webhooks test-alert', show: showDue },
  handle: async (_input, { config, ...services }, id) => {
    const { alerts } = await config();
    if (alerts === null)
      throw new AppError(
        'invalid_setting',
        'ALERT_WEBHOOK_URL: is not set. Set it and ALERT_WEBHOOK_SECRET, and start the gateway again.',
      );
    await addTestWebhook(services, { id, accountId: null, url: new URL(alerts.url).origin });
    return { webhook: webhookView.show(requireFound(await services.store.getWebhook(id), 'webhook', id)) };
  },
});

export const rotateWebhookSecret = writeVerb({
  name: 'rotate_webhook_secret',
  title: 'Give an account a new signing secret',
  description:
    'Gives an account a new secret that signs its webhooks. The customer reads it at GET /v1/balance; it is not shown ' +
    'here. For 24 hours the previous secret signs too. A second rotation within that time ends the oldest secret.',
  path: '/accounts/{account_id}/rotate-webhook-secret',
  fields: { account_id: accountIdField },
  output: z.strictObject({
    account_id: like(z.string(), exampleAccountId),
    previous_signs_until: like(
      time.nullable().describe('Null: there was no secret before.'),
      '2026-11-21T09:30:00.000Z',
    ),
  }),
  answer: 'RotatedSecret',
  example: { account_id: exampleAccountId },
  errors: ['account_not_found'],
  command: {
    usage: 'webhooks rotate-secret <account>',
    show: ({ previous_signs_until: until }) =>
      'The account has a new signing secret: its owner reads it as webhook_secret at GET /v1/balance.' +
      (until === null ? '' : `\nThe previous secret signs too until ${until}.`),
  },
  handle: async ({ account_id: accountId }, services) => {
    const { previous } = requireFound(
      await rotate(services, accountId, { again: true }),
      'account',
      accountId,
    );
    return { account_id: accountId, previous_signs_until: previous === null ? null : toIso(previous.until) };
  },
});
