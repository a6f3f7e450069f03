import type { Services } from '../call.ts';
import { z } from 'zod';
import { formatUsd } from '../../kit/money.ts';
import { StoreError } from '../../store/store-error.ts';
import { usd } from '../answer-fields.ts';
import { jsonAnswer } from '../answer.ts';
import { ensureWebhookSecret } from '../../jobs/webhooks/webhook-secrets.ts';
import { readOperation } from '../define-operation.ts';

const input = z.object({});

const output = z.looseObject({
  balance_usd: usd.describe('Available: the ledger less open holds. A decimal string.'),
  currency: z.literal('USD'),
  webhook_secret: z
    .string()
    .nullish()
    .describe(
      'Signs webhooks of the account. Only over REST (it belongs on a backend, not in a conversation). Null for a key ' +
        'with limits, and while it cannot be made, such as on a full disk: ask again.',
    ),
});

/** Makes an account's first secret. Null while the store takes no writes: the balance is read all the same. */
const makeSecret = async (
  store: Parameters<typeof ensureWebhookSecret>[0],
  accountId: string,
): Promise<string | null> => {
  try {
    return (await ensureWebhookSecret(store, accountId)).current;
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
};

export const getBalance = readOperation({
  name: 'get_balance',
  title: 'Read the balance',
  description: 'The prepaid balance in USD that is available now. Free.',
  input,
  output,
  path: '/v1/balance',
  tool: { view: 'balance' },
  docs: {
    answer: 'Balance',
    examples: [
      {
        summary: 'An account with its webhook secret',
        status: 200,
        answer: {
          balance_usd: '24.96',
          currency: 'USD',
          webhook_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwYzcH5hPLv3s=',
        },
      },
    ],
  },
  handle: async (_input, { caller, transport }, { store }: Pick<Services, 'store'>) =>
    jsonAnswer(
      {
        balance_usd: formatUsd(caller.available),
        currency: 'USD',
        ...(transport === 'rest'
          ? {
              webhook_secret:
                caller.limits === null
                  ? (caller.webhookSecret ?? (await makeSecret(store, caller.accountId)))
                  : null,
            }
          : {}),
      },
      { headers: { 'cache-control': 'no-store' } },
    ),
});
