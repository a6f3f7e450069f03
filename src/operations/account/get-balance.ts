import { z } from 'zod';
import { formatUsd } from '../../kit/money.ts';
import { ensureWebhookSecret } from '../../webhooks/ensure-webhook-secret.ts';
import { usd } from '../answer-fields.ts';
import { getBalanceExamples } from './account-examples.ts';
import { type ReadOperation, jsonAnswer } from '../operation.ts';

const input = z.object({});

const output = z.looseObject({
  balance_usd: usd.describe('Available: the ledger less open holds. A decimal string.'),
  currency: z.literal('USD'),
  webhook_secret: z
    .string()
    .nullish()
    .describe('Signs webhooks. Over REST only: it belongs on a backend, not in a conversation.'),
});

export const getBalance: ReadOperation<z.infer<typeof input>> = {
  name: 'get_balance',
  title: 'Read the balance',
  description: 'The prepaid balance in USD that is available now. Free.',
  group: 'generation',
  sale: null,
  input,
  output,
  rest: { method: 'GET', path: '/v1/balance', query: [], validation: 'envelope', errors: [] },
  tool: { readOnly: true, idempotent: true, openWorld: false },
  docs: {
    answer: 'Balance',
    description: null,
    examples: getBalanceExamples,
    wrong: null,
    headers: {},
    mayBeSandbox: false,
  },
  handle: async (_input, { caller, transport }, { store }) =>
    jsonAnswer(
      {
        balance_usd: formatUsd(caller.available),
        currency: 'USD',
        ...(transport === 'rest'
          ? { webhook_secret: (await ensureWebhookSecret(store, caller.accountId)).current }
          : {}),
      },
      { headers: { 'cache-control': 'no-store' } },
    ),
};
