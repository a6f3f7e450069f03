import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/kit/ids.ts';
import { testEngines } from '../../store/open-test-store.ts';
import { day, minute, until, usd, useCardDesk } from './card-desk.ts';

describe.each(testEngines())('an automatic top-up on $kind', ({ create }) => {
  const desk = useCardDesk(create);
  const { stripe, accountId, take, balance } = desk;

  const order = { below: usd(500), amount: usd(1_000), monthlyCap: usd(3_000) };
  const set = (account = accountId(), changes: Partial<typeof order> = {}) =>
    desk.store().setAutoTopUp({ accountId: account, ...order, ...changes });
  const stateOf = (account = accountId()) => desk.store().getAutoTopUp(account);
  const spend = (cents: number, account = accountId()) =>
    desk.store().postEntry({
      id: newId(),
      accountId: account,
      type: 'adjustment',
      amount: -usd(cents),
      note: null,
      now: desk.now(),
    });
  /** Saves a card by a payment of 20 dollars, and spends so much that 2 dollars are left. */
  const arm = async (account = accountId()): Promise<void> => {
    await set(account);
    const { session } = await desk.buy({ savesCard: true, accountId: account });
    await take(stripe().complete(session));
    await spend(1_800, account);
  };
  const chargesOf = async (account = accountId()) => {
    const attempts = await desk.store().listCardPayments({ accountId: account, before: null, limit: 99 });
    return attempts.filter(({ kind }) => kind === 'automatic');
  };
  /** Lets gateways do what is due, until another account, which comes later in their list, has been topped up. */
  const work = async (count = 1): Promise<void> => {
    const other = await desk.newAccount();
    const { refusal } = stripe().state;
    stripe().state.refusal = null;
    await arm(other);
    stripe().state.refusal = refusal;
    desk.begin(...Array.from({ length: count }, (_, index) => desk.open(desk.stores()[index === 0 ? 0 : 1])));
    await until(async () => expect(await chargesOf(other)).not.toEqual([]));
    await until(async () => expect((await chargesOf(other))[0]?.state).not.toBe('open'));
    await desk.end();
    await desk.store().endAutoTopUp(other);
  };

  it('waits for a card, which a payment saves only when the customer asks for it', async () => {
    await set();
    const plain = await desk.buy();
    await take(stripe().complete(plain.session));
    expect(await stateOf()).toMatchObject({ state: 'needs_card', card: null });
    expect(stripe().saved.size).toBe(0);
    const { session } = await desk.buy({ savesCard: true });
    expect(await stateOf()).toMatchObject({ state: 'needs_card' });
    await take(stripe().complete(session));
    expect(await stateOf()).toMatchObject({ state: 'on', card: 'visa 4242', customer: session.customer });
    const next = await desk.buy({ savesCard: true });
    expect(next.session.customer).toBe(session.customer);
  });

  it('charges the saved card once when the balance is below the limit, also by two gateways', async () => {
    await arm();
    await work(2);
    const [attempt, ...others] = await chargesOf();
    expect(others).toEqual([]);
    expect(attempt).toMatchObject({ state: 'paid', kept: usd(1_000), credited: usd(1_000), isLive: false });
    expect(await balance()).toBe(usd(1_200));
    expect(stripe().charges.find(({ id }) => id === attempt?.paymentIntent)).toMatchObject({
      amount_received: 1_000,
      currency: 'usd',
      customer: (await stateOf())?.customer,
    });
  });

  it('makes one attempt of many that two gateways begin at the same moment', async () => {
    await arm();
    const due = { isLive: false, lastBefore: 0, monthStart: 0, accountId: accountId() };
    const opened = await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        const attempt = { ...due, id: newId(), askAt: desk.now(), now: desk.now() };
        return desk.stores()[index % 2 === 0 ? 0 : 1].openAutoTopUp(attempt);
      }),
    );
    expect(opened.filter((one) => one !== null)).toHaveLength(1);
  });

  it('leaves a balance at the limit, a suspended account and one of another mode alone', async () => {
    await arm();
    await spend(-300);
    await work();
    expect(await chargesOf()).toEqual([]);
    await spend(1);
    await desk.store().setAccountStatus({ id: accountId(), status: 'suspended', now: desk.now() });
    await work();
    expect(await chargesOf()).toEqual([]);
    await desk.store().setAccountStatus({ id: accountId(), status: 'active', now: desk.now() });
    const due = { isLive: true, lastBefore: 0, monthStart: 0, limit: 100 };
    expect(await desk.store().listLowAutoTopUps(due)).toEqual([]);
    expect(await desk.store().listLowAutoTopUps({ ...due, isLive: false })).toEqual([accountId()]);
  });

  it.each([
    [{ code: 'authentication_required' }, 'authentication_required'],
    [{ code: 'card_declined', decline_code: 'authentication_required' }, 'authentication_required'],
    [{ code: 'card_declined', decline_code: 'insufficient_funds' }, 'payment_failed'],
  ])('stops when the bank answers %o, until the customer starts it again', async (refusal, stoppedFor) => {
    await arm();
    stripe().state.refusal = refusal;
    desk.begin();
    await until(async () => expect(await stateOf()).toMatchObject({ state: 'stopped', stoppedFor }));
    await desk.end();
    expect(await chargesOf()).toMatchObject([{ state: 'failed', credited: 0n }]);
    expect(await balance()).toBe(usd(200));
    stripe().state.refusal = null;
    desk.pass(11 * minute);
    await work();
    expect(await chargesOf()).toHaveLength(1);
    await set();
    expect(await stateOf()).toMatchObject({ state: 'on', stoppedFor: null });
    await work();
    expect(await balance()).toBe(usd(1_200));
  });

  it('stops when Stripe does not know the card any more, and goes on with another card', async () => {
    await arm();
    stripe().saved.clear();
    desk.begin();
    await until(async () => expect(await stateOf()).toMatchObject({ stoppedFor: 'payment_failed' }));
    await desk.end();
    const { session } = await desk.buy({ savesCard: true });
    await take(stripe().complete(session));
    expect(await stateOf()).toMatchObject({ state: 'on', stoppedFor: null });
  });

  it('charges no more than the cap in a UTC month, and not twice in ten minutes', async () => {
    // The month of the first attempt lasts long enough for all of them.
    const date = new Date(desk.now());
    desk.pass(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 2) - desk.now());
    await arm();
    await work();
    await spend(1_000);
    await work();
    expect(await chargesOf()).toHaveLength(1);
    for (const count of [2, 3]) {
      desk.pass(11 * minute);
      await work();
      expect(await chargesOf()).toHaveLength(count);
      await spend(1_000);
    }
    desk.pass(11 * minute);
    await work();
    expect(await chargesOf()).toHaveLength(3);
    const since = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
    expect(await desk.store().sumAutoTopUps({ accountId: accountId(), since })).toBe(usd(3_000));
    desk.pass(31 * day);
    await work();
    expect(await chargesOf()).toHaveLength(4);
  });

  it('counts an open attempt in the cap, and makes no other beside it', async () => {
    await arm();
    await set(accountId(), { monthlyCap: usd(1_000) });
    const attempt = { accountId: accountId(), isLive: false, lastBefore: 0, monthStart: 0 };
    const open = () =>
      desk.store().openAutoTopUp({ ...attempt, id: newId(), askAt: desk.now() + day, now: desk.now() });
    expect(await open()).toMatchObject({ state: 'open', amount: usd(1_000) });
    expect(await open()).toBeNull();
    expect(await desk.store().sumAutoTopUps({ accountId: accountId(), since: 0 })).toBe(usd(1_000));
    await set(accountId(), { monthlyCap: usd(100_000) });
    expect(await open()).toBeNull();
  });

  it('stops after a refund, which would else lower the balance and charge the card again', async () => {
    await arm();
    await work();
    const [attempt] = await chargesOf();
    const intent = stripe().charges.find(({ id }) => id === attempt?.paymentIntent);
    if (intent === undefined) throw new Error('no charge');
    await take(stripe().refund(intent, 1_000));
    expect(await balance()).toBe(usd(200));
    expect(await stateOf()).toMatchObject({ state: 'stopped', stoppedFor: 'taken_back' });
    desk.pass(11 * minute);
    await work();
    expect(await chargesOf()).toMatchObject([{ kept: 0n, credited: 0n }]);
  });

  it('ends at once, and Stripe forgets the card, also later when Stripe is down now', async () => {
    await arm();
    const gateway = desk.open(desk.store());
    await gateway.endAutoTopUp(accountId());
    expect(await stateOf()).toMatchObject({ state: 'off', paymentMethod: null, customer: null });
    expect(stripe().saved.size).toBe(0);
    await work();
    expect(await chargesOf()).toEqual([]);
    await arm();
    stripe().state.isDown = true;
    await gateway.endAutoTopUp(accountId());
    expect(await stateOf()).toMatchObject({ state: 'off', paymentMethod: null });
  });

  it('does not start again by a payment that saves a card and comes after its end', async () => {
    await set();
    const { session } = await desk.buy({ savesCard: true });
    await desk.store().endAutoTopUp(accountId());
    await take(stripe().complete(session));
    expect(await stateOf()).toMatchObject({ state: 'off', paymentMethod: null });
    expect(await balance()).toBe(usd(2_000));
  });

  it('is not credited for a charge of another amount', async () => {
    await arm();
    stripe().state.beforeAnswer = async (path) => {
      const [newest] = stripe().charges;
      if (path === '/v1/payment_intents' && newest !== undefined) newest.amount_received = 999;
    };
    desk.begin();
    await until(async () => expect(await chargesOf()).toMatchObject([{ state: 'mismatch', credited: 0n }]));
    expect(await stateOf()).toMatchObject({ stoppedFor: 'payment_failed' });
  });
});
