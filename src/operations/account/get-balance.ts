import { instead } from '../../kit/errors.ts';
import type { Services } from '../call.ts';
import { z } from 'zod';
import { formatUsd } from '../../kit/money.ts';
import { StoreError } from '../../store/store-error.ts';
import { usd, usdOrNull } from '../answer-fields.ts';
import { privateAnswer } from '../answer.ts';
import { ensureWebhookSecret } from '../../jobs/webhooks/webhook-secrets.ts';
import { callerKind, callerKinds, type Caller } from '../../accounts/authenticate.ts';
import type { JsonObject } from '../../kit/json.ts';
import { tightestBudget } from '../../rules/key-limits.ts';
import { readOperation } from '../define-operation.ts';
import { opaque } from '../schema-marks.ts';

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
  caller: opaque(
    z
      .looseObject({
        key_id: z.string(),
        kind: z.enum(callerKinds),
        scopes: z.array(z.string()).nullable(),
        budget_left_usd: usd.nullable().describe('The least that is left of its budgets. Null: it has none.'),
      })
      .optional(),
  ).describe('Who calls, and what its budgets leave. Only over MCP.'),
});

/** Makes an account's first secret. Null while the store takes no writes: the balance is read all the same. */
const makeSecret = (
  store: Parameters<typeof ensureWebhookSecret>[0],
  accountId: string,
): Promise<string | null> =>
  ensureWebhookSecret(store, accountId).then(
    ({ current }) => current,
    instead(null, (error) => error instanceof StoreError),
  );

/** The short form of GET /v1/whoami for an assistant. */
const describeCaller = async (
  caller: Caller,
  { store, clock }: Pick<Services, 'store' | 'clock'>,
): Promise<JsonObject> => {
  const { keyId, limits, scopes } = caller;
  const keys = limits?.isBudgeted === true ? await store.listCountedKeys({ keyId, time: clock.now() }) : [];
  return {
    key_id: keyId,
    kind: callerKind(caller),
    scopes: scopes ? [...scopes] : null,
    budget_left_usd: usdOrNull(tightestBudget(keys)?.available ?? null),
  };
};

export const getBalance = readOperation({
  name: 'get_balance',
  title: 'Read the balance',
  description: 'The prepaid balance in USD that is available now. Free.',
  input: z.object({}),
  output,
  path: '/v1/balance',
  tool: { view: 'balance' },
  docs: {
    answer: 'Balance',
    examples: [
      {
        summary: 'An account with its webhook secret',
        answer: {
          balance_usd: '24.96',
          currency: 'USD',
          webhook_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwYzcH5hPLv3s=',
        },
      },
    ],
  },
  handle: async (_input, { caller, transport }, services: Pick<Services, 'store' | 'clock'>) =>
    privateAnswer({
      balance_usd: formatUsd(caller.available),
      currency: 'USD',
      ...(transport === 'rest'
        ? {
            webhook_secret:
              caller.limits === null
                ? (caller.webhookSecret ?? (await makeSecret(services.store, caller.accountId)))
                : null,
          }
        : { caller: await describeCaller(caller, services) }),
    }),
});
