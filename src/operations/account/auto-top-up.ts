import { z } from 'zod';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd, nanoPerUsd, parseUsd } from '../../kit/money.ts';
import { refuseInput } from '../../media/stream-input.ts';
import { monthStart } from '../../rules/key-limits.ts';
import { autoTopUpStates, autoTopUpStops } from '../../rules/payments.ts';
import { usd, usdOrNull } from '../answer-fields.ts';
import { privateAnswer } from '../answer.ts';
import type { AccountCall, Services } from '../call.ts';
import { readOperation, type ReadParts } from '../define-operation.ts';
import { assertUnlimited } from '../keys/key-answer.ts';
import { amountFrom } from '../keys/key-fields.ts';
import type { AutoTopUp } from '../../store/store.ts';
import { defineView } from '../view.ts';
import { topUpAmount } from './top-up.ts';

/** An automatic top-up as its account and operators see it. Null: it was never set. */
export const autoTopUpView = defineView<AutoTopUp | null>({
  state: '`needs_card`: save one by a payment by card with `save_card`. `stopped`: set it again to go on.',
  stopped_for:
    '`authentication_required`: the bank wants you to confirm, so pay by card once more with `save_card`. ' +
    '`payment_failed`: the card was not charged. `taken_back`: a payment by card was refunded or disputed.',
  card: 'The saved card.',
})({
  state: [z.enum(autoTopUpStates), (set) => set?.state ?? 'off', 'on'],
  stopped_for: [z.enum(autoTopUpStops).nullable(), (set) => set?.stoppedFor ?? null, null],
  below_usd: [usd.nullable(), (set) => usdOrNull(set?.below ?? null), '5.00'],
  amount_usd: [usd.nullable(), (set) => usdOrNull(set?.amount ?? null), '20.00'],
  monthly_cap_usd: [usd.nullable(), (set) => usdOrNull(set?.monthlyCap ?? null), '100.00'],
  card: [z.string().nullable(), (set) => set?.card ?? null, 'visa 4242'],
});

const output = z.looseObject({
  object: z.literal('auto_top_up'),
  ...autoTopUpView.schema.shape,
  month_usd: usd.describe('Charged in this UTC month, with a charge that is under way.'),
});

const path = '/v1/balance/auto-top-up';

const example = { object: 'auto_top_up', ...autoTopUpView.example, month_usd: '40.00' };

type AutoTopUpServices = Pick<Services, 'store' | 'clock' | 'cards'>;

const show = async (
  { caller: { accountId } }: AccountCall,
  { store, clock }: Pick<Services, 'store' | 'clock'>,
) => {
  const set = await store.getAutoTopUp(accountId);
  const charged = await store.sumAutoTopUps({ accountId, since: monthStart(clock.now()) });
  return privateAnswer({
    object: 'auto_top_up',
    ...autoTopUpView.show(set),
    month_usd: formatUsd(charged),
  });
};

type Parts<Input> = Pick<
  ReadParts<Input, AutoTopUpServices>,
  'name' | 'title' | 'description' | 'input' | 'method' | 'isStrict'
> & {
  body?: JsonObject;
  wrong?: JsonObject;
  change?(input: Input, call: AccountCall, services: AutoTopUpServices): Promise<void>;
};

/** Makes an operation that answers the automatic top-up of the account, after a change. It is no tool: a person decides. */
const autoTopUpOperation = <Input>({ body, wrong, change, ...parts }: Parts<Input>) =>
  readOperation<Input, AutoTopUpServices>({
    ...parts,
    output,
    path,
    errors: ['permission_denied'],
    tool: null,
    docs: {
      answer: 'AutoTopUp',
      examples: [{ summary: 'An automatic top-up', ...(body && { body }), answer: example }],
      ...(wrong && { wrong }),
    },
    handle: async (input, call, services) => {
      assertUnlimited(call.caller, 'read or change the automatic top-up');
      await change?.(input, call, services);
      return show(call, services);
    },
  });

const ofCards = ({ cards }: Pick<Services, 'cards'>) => {
  if (cards === null) throw new Error('nothing is sold by card');
  return cards;
};

export const getAutoTopUp = autoTopUpOperation({
  name: 'get_auto_top_up',
  title: 'Read the automatic top-up',
  description:
    'Below which balance the saved card is charged, and whether it is. Not with a key that has limits. Free.',
  input: z.object({}),
});

export const setAutoTopUp = autoTopUpOperation({
  name: 'set_auto_top_up',
  title: 'Set the automatic top-up',
  description:
    'Charges the saved card when the balance is below a limit, at most once in ten minutes and up to a cap in a UTC month. ' +
    'Open holds do not count. Save a card by POST /v1/balance/checkout with `save_card`. It stops when the bank asks for a ' +
    'confirmation, when a charge fails, and after a refund or dispute; setting it again starts it again. Not with a key ' +
    'that has limits.',
  method: 'PUT',
  isStrict: true,
  input: z.strictObject({
    below_usd: amountFrom(1n).describe('The limit of the balance.'),
    amount_usd: topUpAmount(5n * nanoPerUsd).describe('What is charged, 5.00 to 1000.00, e.g. "20.00".'),
    monthly_cap_usd: amountFrom(1n).describe('The most that is charged in a UTC month.'),
  }),
  body: { below_usd: '5.00', amount_usd: '20.00', monthly_cap_usd: '100.00' },
  wrong: { below_usd: '5.00', amount_usd: '1.00', monthly_cap_usd: '100.00' },
  change: async (
    { below_usd: below, amount_usd: text, monthly_cap_usd: monthlyCap },
    { caller: { accountId, isSandbox } },
    services,
  ) => {
    ofCards(services).assertSells(isSandbox);
    const amount = parseUsd(text);
    if (monthlyCap < amount) throw refuseInput('monthly_cap_usd', 'must be at least amount_usd');
    await services.store.setAutoTopUp({ accountId, below, amount, monthlyCap });
  },
});

export const endAutoTopUp = autoTopUpOperation({
  name: 'end_auto_top_up',
  title: 'End the automatic top-up',
  description:
    'Ends the automatic top-up and forgets the saved card. A charge that is under way may still come. Not with a key that ' +
    'has limits.',
  method: 'DELETE',
  input: z.object({}),
  change: (_input, { caller: { accountId } }, services) => ofCards(services).endAutoTopUp(accountId),
});
