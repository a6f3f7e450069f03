import { z } from 'zod';
import { nanoPerUsd, parseUsd } from '../../kit/money.ts';
import { refuseInput } from '../../media/stream-input.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import { usd } from '../answer-fields.ts';
import { privateAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { readOperation } from '../define-operation.ts';
import { assertUnlimited } from '../keys/key-answer.ts';
import { topUpAmount } from './top-up.ts';

/** The checkouts that an account may open in a minute. */
const checkoutsPerMinute = 10;

type CheckoutServices = Pick<Services, 'store' | 'cards' | 'accountLimiter' | 'config' | 'publicUrl'>;

export const createCheckout = readOperation({
  name: 'create_checkout',
  title: 'Pay by card',
  description:
    'Opens a page of Stripe where a person pays by card. The balance rises once Stripe has the money, and falls again by ' +
    `what is refunded or disputed. The page ends after a day. At most ${checkoutsPerMinute} a minute.`,
  input: z.strictObject({
    amount_usd: topUpAmount(nanoPerUsd),
    save_card: z
      .boolean()
      .default(false)
      .describe(
        'True: saves the card for the automatic top-up, which must be set. Not with a key that has limits.',
      ),
  }),
  output: z.looseObject({
    object: z.literal('checkout'),
    id: z.string(),
    amount_usd: usd,
    url: z.string().describe('The page.'),
  }),
  method: 'POST',
  path: '/v1/balance/checkout',
  isStrict: true,
  errors: ['permission_denied', 'upstream_error'],
  // A person pays, in a browser.
  tool: null,
  docs: {
    answer: 'Checkout',
    examples: [
      {
        summary: 'Twenty dollars',
        body: { amount_usd: '20.00' },
        answer: {
          object: 'checkout',
          id: '019ab1c2-4e5f-7061-8b9c-1d2e3f4a5b6c',
          amount_usd: '20.00',
          url: 'https://checkout.stripe.com/c/pay/cs_live_a1B2c3',
        },
      },
    ],
    wrong: { amount_usd: '0.10' },
  },
  handle: async ({ amount_usd: amount, save_card: savesCard }, { caller }, services: CheckoutServices) => {
    const { accountId, isSandbox } = caller;
    const { cards, accountLimiter, config, publicUrl } = services;
    if (cards === null) throw new Error('nothing is sold by card');
    if (savesCard) await assertSavesCards(caller, services);
    await accountLimiter.consume(accountId, checkoutsPerMinute, 'checkouts');
    const opened = await cards.checkout({
      accountId,
      isSandbox,
      amount: parseUsd(amount),
      savesCard,
      returnUrl: `${publicUrl()}/${config.hasConsole ? 'console/top-up' : ''}`,
    });
    return privateAnswer({ object: 'checkout', amount_usd: amount, ...opened });
  },
});

const assertSavesCards = async (caller: Caller, { store }: Pick<Services, 'store'>): Promise<void> => {
  assertUnlimited(caller, 'save a card');
  const set = await store.getAutoTopUp(caller.accountId);
  if (set === null || set.state === 'off')
    throw refuseInput('save_card', 'set the automatic top-up first, by PUT /v1/balance/auto-top-up');
};
