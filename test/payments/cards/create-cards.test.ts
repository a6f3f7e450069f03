import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import fc from 'fast-check';
import { systemClock } from '../../../src/kit/clock.ts';
import { newId } from '../../../src/kit/ids.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { nanoPerUsd } from '../../../src/kit/money.ts';
import { createCards, type Cards } from '../../../src/payments/cards/create-cards.ts';
import type { CardPayment, Store } from '../../../src/store/store.ts';
import { assertSoundBooks, available } from '../../store/builders.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
import {
  signEvent,
  startStripeStub,
  stripeKey,
  stripeWebhookSecret,
  type StripeStub,
  type StubSession,
} from './stripe-stub.ts';
import type { StubEvent } from './stub-intents.ts';

const until = (check: () => void | Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 20_000 });

const usd = (cents: number): bigint => (BigInt(cents) * nanoPerUsd) / 100n;

describe.each(testEngines())('payments by card on $kind', ({ create }) => {
  let data: TestStore;
  let stripe: StripeStub;
  let accountId: string;
  let gateways: [Cards, Cards];
  const running: AbortController[] = [];

  const openCards = (store: Store): Cards =>
    createCards({
      settings: { secretKey: stripeKey, webhookSecret: stripeWebhookSecret, isLive: false },
      store,
      clock: systemClock,
      log: silentLog,
      goods: 'Causeway balance',
      address: stripe.address,
    });
  beforeAll(async () => {
    data = await create();
  });
  beforeEach(async () => {
    stripe = await startStripeStub();
    gateways = [openCards(data.store), openCards(await data.openAnother())];
    accountId = newId();
    await data.store.createAccount({
      id: accountId,
      name: 'Acme',
      status: 'active',
      isSandbox: true,
      now: 1,
    });
  });
  afterEach(async () => {
    for (const one of running.splice(0)) one.abort();
    await stripe.stop();
    await assertSoundBooks(data.store);
  });
  afterAll(() => data.remove());

  const order = {
    isSandbox: true,
    amount: usd(2_000),
    returnUrl: 'https://gateway.example/console/top-up',
    savesCard: false,
  };
  const buy = async (): Promise<{ id: string; session: StubSession }> => {
    const { id, url } = await gateways[0].checkout({ ...order, accountId });
    const session = stripe.sessionOf(id);
    expect(url).toBe(session.url);
    return { id, session };
  };
  const take = (event: StubEvent, cards = gateways[0]): Promise<void> => {
    const body = JSON.stringify(event);
    return cards.takeEvent(Buffer.from(body), signEvent(body));
  };
  const begin = (cards = gateways[0]): void => {
    const stop = new AbortController();
    running.push(stop);
    void cards.begin(stop.signal);
  };
  const read = async (id: string): Promise<CardPayment | null> => data.store.getCardPayment(id);
  const balance = () => available(data.store, accountId);

  it('are written down before Stripe is asked, and credited when Stripe has the money', async () => {
    const { id, session } = await buy();
    expect(await read(id)).toMatchObject({ state: 'open', amount: usd(2_000), isLive: false, credited: 0n });
    expect(session).toMatchObject({ amount_total: 2_000, currency: 'usd', client_reference_id: id });
    await take(stripe.complete(session));
    expect(await read(id)).toMatchObject({ state: 'paid', kept: usd(2_000), session: session.id });
    expect(await balance()).toBe(usd(2_000));
  });

  it('are credited once, when all events come at the same moment, twice, to two gateways', async () => {
    const { session } = await buy();
    const completed = stripe.complete(session, { isPaid: false });
    const settled = stripe.settle(session, { isPaid: true });
    const all = [completed, settled, completed, settled];
    await Promise.all(all.map((event, index) => take(event, gateways[index % 2 === 0 ? 0 : 1])));
    expect(await balance()).toBe(usd(2_000));
  });

  it('are credited when the event comes before the page has been answered', async () => {
    stripe.state.beforeAnswer = async (path) => {
      if (path !== '/v1/checkout/sessions') return;
      const [session] = stripe.sessions.values();
      if (session !== undefined) await take(stripe.complete(session));
    };
    const { id } = await gateways[0].checkout({ ...order, accountId });
    expect(await read(id)).toMatchObject({ state: 'paid' });
    expect(await balance()).toBe(usd(2_000));
  });

  it('stay open until a slow payment comes, and fail if it does not', async () => {
    const [slow, refused] = [await buy(), await buy()];
    await take(stripe.complete(slow.session, { isPaid: false }));
    expect(await read(slow.id)).toMatchObject({ state: 'open' });
    await take(stripe.settle(slow.session, { isPaid: true }));
    expect(await read(slow.id)).toMatchObject({ state: 'paid' });
    stripe.complete(refused.session, { isPaid: false });
    await take(stripe.settle(refused.session, { isPaid: false }));
    expect(await read(refused.id)).toMatchObject({ state: 'failed' });
    const left = await buy();
    await take(stripe.expire(left.session));
    expect(await read(left.id)).toMatchObject({ state: 'expired' });
    expect(await balance()).toBe(usd(2_000));
  });

  it.each([
    ['another amount', { amount_total: 1_999 }],
    ['another currency', { currency: 'jpy' }],
    ['real money for test money', { livemode: true }],
  ])('of %s are credited nothing, and are kept for the operator', async (_what, other) => {
    const { id, session } = await buy();
    Object.assign(session, other);
    await take(stripe.complete(session));
    expect(await read(id)).toMatchObject({ state: 'mismatch', credited: 0n });
    expect(
      await data.store.listCardPayments({ accountId, state: 'mismatch', before: null, limit: 9 }),
    ).toHaveLength(1);
    expect(await balance()).toBe(0n);
  });

  it('do not take the session of another page for their own, whatever reference it has', async () => {
    const { id, session } = await buy();
    const link: StubSession = { ...structuredClone(session), id: 'cs_test_link', metadata: {} };
    stripe.sessions.set(link.id, link);
    await take(stripe.complete(link));
    link.metadata['card_payment'] = newId();
    await take(stripe.note('checkout.session.completed', link));
    expect(await read(id)).toMatchObject({ state: 'open', session: session.id });
  });

  it('follow refunds, failed refunds and disputes, each once, in whatever order the events come', async () => {
    const { session } = await buy();
    const events = [stripe.complete(session)];
    await take(events[0] as StubEvent);
    events.push(stripe.refund(session, 500));
    await take(events[1] as StubEvent);
    expect(await balance()).toBe(usd(1_500));
    const { dispute, event } = stripe.dispute(session, 1_500);
    await Promise.all([take(event), take(event, gateways[1])]);
    expect(await balance()).toBe(0n);
    await take(stripe.close(dispute, 'won'));
    expect(await balance()).toBe(usd(1_500));
    await take(stripe.refund(session, -500));
    for (const earlier of [event, ...events]) await take(earlier);
    expect(await balance()).toBe(usd(2_000));
  });

  it('leave a debt when what was spent is taken back, which later money pays', async () => {
    const { id, session } = await buy();
    await take(stripe.complete(session));
    const spend = {
      id: newId(),
      accountId,
      type: 'adjustment',
      amount: -usd(1_200),
      note: null,
      now: 1,
    } as const;
    await data.store.postEntry(spend);
    const { dispute, event } = stripe.dispute(session, 2_000);
    await take(event);
    await take(stripe.close(dispute, 'lost'));
    expect(await read(id)).toMatchObject({ kept: 0n, credited: usd(1_200) });
    await data.store.postEntry({ ...spend, id: newId(), type: 'topup', amount: usd(300) });
    begin();
    await until(async () => expect(await read(id)).toMatchObject({ credited: usd(900) }));
    const next = await buy();
    await take(stripe.complete(next.session));
    expect(await balance()).toBe(usd(1_100));
    expect(await read(id)).toMatchObject({ credited: 0n });
  });

  it('are found after an outage, of pages and of refunds, and the events are read only once', async () => {
    const paid = await buy();
    await take(stripe.complete(paid.session));
    begin();
    await until(async () => expect(await data.store.findCardEvent('test')).toBe(stripe.events.at(-1)?.id));
    running.pop()?.abort();
    stripe.refund(paid.session, 2_000);
    const missed = await buy();
    stripe.complete(missed.session);
    for (let index = 0; index < 120; index += 1)
      stripe.note('charge.refunded', { object: 'charge', payment_intent: 'pi_x' });
    begin(gateways[1]);
    await until(async () => expect(await data.store.findCardEvent('test')).toBe(stripe.events.at(-1)?.id));
    expect(await read(paid.id)).toMatchObject({ kept: 0n, credited: 0n });
    expect(await read(missed.id)).toMatchObject({ state: 'paid' });
    expect(await balance()).toBe(usd(2_000));
    const asked = stripe.asked.filter((one) => one.endsWith('/events')).length;
    begin();
    await until(() => expect(stripe.asked.filter((one) => one.endsWith('/events'))).toHaveLength(asked + 1));
    expect(stripe.asked.at(-1)).toBe('GET /v1/events');
  });

  it('are followed anew when Stripe has forgotten the last event', async () => {
    await data.store.noteCardEvent({ name: 'test', last: 'evt_forgotten' });
    const { id, session } = await buy();
    stripe.complete(session);
    begin();
    await until(async () => expect(await read(id)).toMatchObject({ state: 'paid' }));
  });

  it('refuse a buyer while Stripe is down, and an event is taken once Stripe is back', async () => {
    stripe.state.isDown = true;
    await expect(gateways[0].checkout({ ...order, accountId })).rejects.toMatchObject({
      status: 502,
      message: 'The card service did not answer as it should. Nothing was charged. Try again.',
    });
    const [row] = await data.store.listCardPayments({ accountId, before: null, limit: 9 });
    expect(row).toMatchObject({ state: 'open', session: null });
    stripe.state.isDown = false;
    const { session } = await buy();
    const event = stripe.complete(session);
    stripe.state.isDown = true;
    await expect(take(event)).rejects.toThrow('down');
    stripe.state.isDown = false;
    await take(event);
    expect(await balance()).toBe(usd(2_000));
  });

  it('are for sandbox accounts with test money, and for others with real money', async () => {
    await expect(gateways[0].checkout({ ...order, accountId, isSandbox: false })).rejects.toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining('Use a sandbox account'),
    });
    expect(stripe.asked).toEqual([]);
  });

  it('end with what Stripe has, whatever happens and whichever events come, however often', async () => {
    const act = fc.record({
      what: fc.constantFrom('refund', 'undo', 'dispute', 'win'),
      cents: fc.integer({ min: 1, max: 700 }),
      told: fc.subarray([0, 1, 1]),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 6 }), async (acts) => {
        const { id, session } = await buy();
        const before = await balance();
        const completed = stripe.complete(session);
        const disputes: ReturnType<StripeStub['dispute']>['dispute'][] = [];
        let last = completed;
        for (const { what, cents, told } of acts) {
          if (what === 'refund') last = stripe.refund(session, cents);
          const refunded = session.payment_intent?.latest_charge?.amount_refunded ?? 0;
          if (what === 'undo' && refunded >= cents) last = stripe.refund(session, -cents);
          if (what === 'dispute') {
            const opened = stripe.dispute(session, cents);
            disputes.push(opened.dispute);
            last = opened.event;
          }
          const dispute = what === 'win' ? disputes.pop() : undefined;
          if (dispute !== undefined) last = stripe.close(dispute, 'won');
          await Promise.all(told.map((gateway) => take(last, gateways[gateway === 0 ? 0 : 1])));
        }
        await Promise.all([completed, last].map((event) => take(event)));
        const taken =
          (session.payment_intent?.latest_charge?.amount_refunded ?? 0) +
          disputes.reduce((sum, { amount }) => sum + amount, 0);
        const kept = usd(Math.max(0, 2_000 - taken));
        expect(await read(id)).toMatchObject({ state: 'paid', kept, credited: kept });
        expect((await balance()) - before).toBe(kept);
      }),
      { numRuns: 8 },
    );
  });
});
