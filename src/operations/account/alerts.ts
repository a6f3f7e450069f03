import { z } from 'zod';
import { assertUnlimited } from '../keys/key-answer.ts';
import { amountFrom } from '../keys/key-fields.ts';
import { assertWebhooks, checkWebhookUrl, maxUrlCharacters } from '../webhook-url.ts';
import { refuseInput } from '../../media/stream-input.ts';
import { time, usd, usdOrNull } from '../answer-fields.ts';
import { jsonAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { readOperation } from '../define-operation.ts';
import type { EventDocs } from '../operation-docs.ts';
import { webhookOperation } from '../webhooks/own-webhooks.ts';

const output = z.looseObject({ low_balance_usd: usd.nullable(), url: z.string().nullable() });
const example = { low_balance_usd: '5.00', url: 'https://shop.example/hooks/balance' };

const readAlert = async (accountId: string, { store }: Pick<Services, 'store'>) => {
  const alert = await store.getBalanceAlert(accountId);
  return { low_balance_usd: usdOrNull(alert?.below ?? null), url: alert?.url ?? null };
};

export const getAlerts = readOperation({
  name: 'get_alerts',
  title: 'Read the alerts',
  description:
    'Below which balance this account is told, and at which address. Not with a key that has limits. Free.',
  input: z.object({}),
  output,
  path: '/v1/alerts',
  errors: ['permission_denied'],
  tool: null,
  docs: { answer: 'Alerts', examples: [{ summary: 'An alert', answer: example }] },
  handle: async (_input, { caller }, services: Pick<Services, 'store'>) => {
    assertUnlimited(caller, 'read alerts');
    return jsonAnswer(await readAlert(caller.accountId, services));
  },
});

/** The body that `store/commands/alerts.ts` writes. */
const event: EventDocs = {
  name: 'balance_low',
  summary: 'The balance has fallen below the limit',
  when: 'Sent to the url of the alerts within a minute, once until the balance was not below.',
  schemaName: 'LowBalanceEvent',
  schema: z
    .looseObject({
      event_id: z.string(),
      type: z.literal('balance.low'),
      balance_usd: usd.describe('With open holds.'),
      low_balance_usd: usd,
      created_at: time,
    })
    .describe('The balance is low.'),
  example: {
    event_id: '019ab1c2-4e5f-7061-8b9c-1d2e3f4a5b6c',
    type: 'balance.low',
    balance_usd: '4.96',
    low_balance_usd: '5.00',
    created_at: '2026-11-20T09:30:06.412Z',
  },
};

export const setAlerts = webhookOperation({
  name: 'set_alerts',
  title: 'Set the alerts',
  description:
    'Sets the balance below which this account is told, by a signed event to an address; null for both ends that. Open ' +
    'holds do not count. Not with a key that has limits. Free.',
  input: z.strictObject({
    low_balance_usd: amountFrom(1n).nullable().describe('The limit, as a decimal string.'),
    url: z.string().min(1).max(maxUrlCharacters).nullable().describe('Public HTTPS address that is told.'),
  }),
  output,
  path: '/v1/alerts',
  errors: ['webhook_temporarily_unavailable'],
  method: 'PUT',
  isStrict: true,
  docs: {
    answer: 'Alerts',
    event,
    examples: [{ summary: 'An alert', body: example, answer: example }],
    wrong: { low_balance_usd: '-5', url: null },
  },
  change: async ({ low_balance_usd: below, url }, { caller: { accountId } }, services) => {
    const { store, config } = services;
    checkWebhookUrl(url, config, 'url');
    assertWebhooks(url, config, 'url');
    if ((below === null) !== (url === null))
      throw refuseInput(url === null ? 'url' : 'low_balance_usd', 'set both, or both to null');
    if (below === null || url === null) await store.removeBalanceAlert(accountId);
    else await store.setBalanceAlert({ accountId, below, url });
    return readAlert(accountId, services);
  },
});
