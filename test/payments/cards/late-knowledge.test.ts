import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/kit/ids.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { createStripeClient } from '../../../src/payments/cards/stripe-client.ts';
import { updateCardPayment } from '../../../src/payments/cards/update-card-payment.ts';
import { testEngines } from '../../store/open-test-store.ts';
import { minute, until, usd, useCardDesk } from './card-desk.ts';
import { stripeKey, stripeWebhookSecret } from './stripe-stub.ts';

const engines = testEngines();

describe.each(engines)('what a gateway learns late of saved cards, on $kind', ({ create }) => {
  const desk = useCardDesk(create);
  const { stripe, accountId, buy, take, balance } = desk;

  const order = { below: usd(500), amount: usd(1_000), monthlyCap: usd(3_000) };
  const set = (changes: Partial<typeof order> = {}) =>
    desk.store().setAutoTopUp({ accountId: accountId(), ...order, ...changes });
  const stateOf = () => desk.store().getAutoTopUp(accountId());
  const spend = (cents: number) => {
    const entry = { id: newId(), accountId: accountId(), type: 'adjustment', note: null } as const;
    return desk.store().postEntry({ ...entry, amount: -usd(cents), now: desk.now() });
  };
  /** Saves a card by a payment of 20 dollars, and spends so much that 2 dollars are left. */
  const arm = async (): Promise<void> => {
    await set();
    const { session } = await buy({ savesCard: true });
    await take(stripe().complete(session));
    await spend(1_800);
  };
  /** Writes an attempt down, which its gateway does not live to send. */
  const leaveAttempt = async (): Promise<string> => {
    const id = newId();
    const now = desk.now();
    const due = { isLive: false, lastBefore: 0, monthStart: 0, accountId: accountId() };
    expect(await desk.store().openAutoTopUp({ ...due, id, askAt: now + minute, now })).not.toBeNull();
    return id;
  };
  /** Asks Stripe about a payment, as a gateway does of which no event came. */
  const ask = (id: string): Promise<void> =>
    updateCardPayment(
      { id },
      {
        settings: { secretKey: stripeKey, webhookSecret: stripeWebhookSecret, isLive: false },
        store: desk.store(),
        stripe: createStripeClient(stripeKey, stripe().address),
        clock: desk,
        log: silentLog,
        goods: 'Causeway balance',
      },
    );
  const workUntil = async (check: () => void | Promise<void>): Promise<void> => {
    desk.begin();
    await until(check);
    await desk.end();
  };

  it.each([
    [
      'account is suspended',
      () => desk.store().setAccountStatus({ id: accountId(), status: 'suspended', now: 1 }),
    ],
    ['cap is lowered', () => set({ amount: usd(500), monthlyCap: usd(500) })],
    ['amount is lowered', () => set({ amount: usd(500) })],
    ['balance has risen', () => spend(-500)],
  ] as const)('an attempt that was not sent yet is never sent after the %s', async (_what, change) => {
    await arm();
    const id = await leaveAttempt();
    await change();
    for (const [later, state] of [
      [2, 'open'],
      [14, 'expired'],
    ] as const) {
      desk.pass(later * minute);
      await ask(id);
      expect(await desk.read(id)).toMatchObject({ state });
    }
    expect(stripe().charges).toEqual([]);
  });

  it('a charge that was refunded before its outcome was known stops the automatic top-up', async () => {
    await arm();
    stripe().state.loses = (request) => request === 'POST /v1/payment_intents';
    await workUntil(() => expect(stripe().charges).toHaveLength(1));
    stripe().state.loses = () => false;
    const [intent] = stripe().charges;
    if (intent === undefined) throw new Error('no charge');
    await take(stripe().refund(intent, 1_000));
    desk.pass(11 * minute);
    await workUntil(async () =>
      expect(await stateOf()).toMatchObject({ state: 'stopped', stoppedFor: 'taken_back' }),
    );
    expect(stripe().charges).toHaveLength(1);
    expect(await balance()).toBe(usd(200));
  });

  it('a payment that saved a card and was refunded before it was known starts nothing', async () => {
    await set();
    const { id, session } = await buy({ savesCard: true });
    stripe().complete(session);
    stripe().refund(session, 2_000);
    await workUntil(async () => expect(await desk.read(id)).toMatchObject({ state: 'paid', kept: 0n }));
    expect(await stateOf()).toMatchObject({ state: 'stopped', stoppedFor: 'taken_back', card: 'visa 4242' });
    expect(stripe().charges).toEqual([]);
  });

  it('of two cards the one that was saved later stays, in whatever order their events come', async () => {
    await set();
    const [first, second] = [await buy({ savesCard: true }), await buy({ savesCard: true })];
    const earlier = stripe().complete(second.session);
    stripe().state.now = () => Math.floor(desk.now() / 1_000) + 5;
    const later = stripe().complete(first.session);
    const method = first.session.payment_intent?.payment_method;
    for (const event of [later, earlier, later]) await take(event);
    expect(await stateOf()).toMatchObject({ state: 'on', paymentMethod: method });
  });

  it('a card can be saved again when Stripe has deleted the customer', async () => {
    await arm();
    const customer = String((await stateOf())?.customer);
    stripe().deleteCustomer(customer);
    await workUntil(async () => expect(await stateOf()).toMatchObject({ stoppedFor: 'payment_failed' }));
    const { session } = await buy({ savesCard: true });
    await take(stripe().complete(session));
    expect(await stateOf()).toMatchObject({ state: 'on', customer: session.customer });
    expect(session.customer).not.toBe(customer);
  });

  it('an attempt fails when Stripe has deleted the customer before it was sent, and holds up no other', async () => {
    await arm();
    const id = await leaveAttempt();
    stripe().deleteCustomer(String((await stateOf())?.customer));
    desk.pass(2 * minute);
    await ask(id);
    expect(await desk.read(id)).toMatchObject({ state: 'failed' });
    expect(await stateOf()).toMatchObject({ stoppedFor: 'payment_failed' });
  });

  it('a charge is found by a gateway whose clock is wrong', async () => {
    await arm();
    stripe().state.now = () => Math.floor(desk.now() / 1_000) - 3_600;
    stripe().state.loses = (request) => request === 'POST /v1/payment_intents';
    await workUntil(() => expect(stripe().charges).toHaveLength(1));
    stripe().events.length = 0;
    desk.pass(20 * minute);
    await workUntil(async () => expect(await balance()).toBe(usd(1_200)));
    expect(stripe().charges).toHaveLength(1);
  });

  it('a page that was paid during an outage counts before the saved card is charged', async () => {
    await arm();
    const { session } = await buy();
    stripe().complete(session);
    stripe().state.beforeAnswer = async (path) => {
      if (path === '/v1/events') await new Promise((resolve) => setTimeout(resolve, 300));
    };
    await workUntil(async () => expect(await balance()).toBe(usd(2_200)));
    expect(stripe().charges).toEqual([]);
  });

  it('a payment about which Stripe does not answer delays no other that is open', async () => {
    const [broken, ...others] = [await buy(), await buy(), await buy()];
    for (const { session } of others) stripe().complete(session);
    stripe().events.length = 0;
    stripe().state.loses = (request) => request.endsWith(broken.session.id);
    desk.pass(26 * 60 * minute);
    await workUntil(async () => {
      for (const { id } of others) expect(await desk.read(id)).toMatchObject({ state: 'paid' });
    });
  });
});
