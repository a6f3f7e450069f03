import { z } from 'zod';
import { formatUsd } from '../../kit/money.ts';
import { timeOf, usd, usdOf } from '../../operations/answer-fields.ts';
import { defineView, toPage } from '../../operations/view.ts';
import { cardPaymentKinds, cardPaymentStates } from '../../rules/payments.ts';
import type { CardPayment } from '../../store/store.ts';
import { accountIdField, exampleAccountId, limitField, pageField } from '../fields.ts';
import { readVerb, requireFound } from '../verb.ts';
import { textOrNull } from './payment-view.ts';

const cardPaymentView = defineView<CardPayment>({
  kind:
    '`checkout`: on a page of Stripe. `saving`: likewise, and the card is saved. `automatic`: the saved card is charged ' +
    'because the balance was low.',
  state:
    '`open`: not paid yet. `paid`: credited. `expired`, `failed`: not paid. `mismatch`: other money came than was asked ' +
    'for, and nothing is credited.',
  kept_usd: 'What is left after refunds and disputes.',
  owed_usd: 'What the account had spent when it was taken back. Later money pays it.',
  live: 'False: test money.',
  session: 'Its name at Stripe; null before Stripe has told of it, and for `automatic`.',
})({
  id: [z.string(), 'id', '019ab1c2-4e5f-7061-8b9c-1d2e3f4a5b6c'],
  account_id: [z.string(), 'accountId', exampleAccountId],
  kind: [z.enum(cardPaymentKinds), 'kind', 'checkout'],
  state: [z.enum(cardPaymentStates), 'state', 'paid'],
  amount_usd: usdOf('amount', '20.00'),
  kept_usd: usdOf('kept', '20.00'),
  owed_usd: [usd, ({ credited, kept }) => formatUsd(credited - kept), '0.00'],
  live: [z.boolean(), 'isLive', true],
  session: [textOrNull, 'session', 'cs_live_a1B2c3'],
  payment_intent: [textOrNull, 'paymentIntent', 'pi_3Q4r5S'],
  created_at: timeOf('createdAt', '2026-11-01T08:00:00.000Z'),
  updated_at: timeOf('updatedAt', '2026-11-01T08:02:00.000Z'),
});

export const listCardPayments = readVerb({
  name: 'list_card_payments',
  title: 'List payments by card',
  description:
    'The payments by card of all accounts or one, newest first. One that expired or failed is removed 30 days ' +
    'after that.',
  path: '/card-payments',
  fields: {
    account_id: accountIdField.optional(),
    state: z.enum(cardPaymentStates).optional().describe('Only those in this state.'),
    before: pageField('payment'),
    limit: limitField(1_000, 100),
  },
  output: z.strictObject({ payments: z.array(cardPaymentView.schema), has_more: z.boolean() }),
  answer: 'CardPaymentPage',
  example: { state: 'paid', limit: 100 },
  errors: ['payment_not_found'],
  command: {
    usage: 'payments cards [--account <id>] [--state <state>] [--before <payment>] [--limit <count>]',
    table: {
      columns: 'id created_at kind state >amount_usd >kept_usd >owed_usd account_id=ACCOUNT payment_intent',
      none: 'There are no such payments.',
    },
  },
  handle: async ({ account_id: accountId, state, before, limit }, { store }) => {
    const last =
      before === undefined ? null : requireFound(await store.getCardPayment(before), 'payment', before);
    const found = await store.listCardPayments({ accountId, state, before: last, limit: limit + 1 });
    return toPage('payments', found, { limit, show: cardPaymentView.show });
  },
});
