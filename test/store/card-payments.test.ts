import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { newId } from '../../src/kit/ids.ts';
import type { CardPayment, CardPaymentChange, Store } from '../../src/store/store.ts';
import { addAccount, assertSoundBooks, available, opening, openJob, runningJob, start } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('a payment by card on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let other: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
    other = await data.openAnother();
  });
  afterEach(() => assertSoundBooks(store));
  afterAll(() => data.remove());

  const add = async (accountId: string, amount = 100n, id = newId()): Promise<string> => {
    await store.addCardPayment({
      id,
      accountId,
      kind: 'checkout',
      amount,
      isLive: false,
      customer: null,
      askAt: start + 1_000,
      now: start,
    });
    return id;
  };
  const read = async (id: string): Promise<CardPayment> => {
    const payment = await store.getCardPayment(id);
    if (payment === null) throw new Error(`there is no payment ${id}`);
    return payment;
  };
  const toChange = (payment: CardPayment, kept: bigint): CardPaymentChange => ({
    ...payment,
    state: 'paid',
    kept,
    session: `cs_${payment.id}`,
    paymentIntent: `pi_${payment.id}`,
    savedCard: null,
    failedFor: null,
    now: start + 1,
  });
  /** What is left of the payment after refunds and disputes. */
  const keep = async (id: string, kept: bigint) => store.changeCardPayment(toChange(await read(id), kept));
  const entriesOf = async (accountId: string) =>
    (await store.listEntries({ accountId, limit: 100, before: null })).map(
      ({ type, amount }) => `${type} ${amount}`,
    );

  it('is credited once, of many who tell of it at once', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    const id = await add(accountId);
    const before = await read(id);
    const told = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? store : other).changeCardPayment(toChange(before, 100n)),
      ),
    );
    expect(told.filter((one) => one !== null)).toHaveLength(1);
    expect(await read(id)).toMatchObject({ state: 'paid', kept: 100n, credited: 100n, version: 1 });
    expect(await entriesOf(accountId)).toEqual(['topup 100']);
    await keep(id, 100n);
    expect(await entriesOf(accountId)).toEqual(['topup 100']);
  });

  it('of an intent that another payment has is refused, and credits nothing', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    const first = await add(accountId);
    await keep(first, 100n);
    const { paymentIntent } = await read(first);
    const second = await read(await add(accountId));
    await expect(store.changeCardPayment({ ...toChange(second, 100n), paymentIntent })).rejects.toThrow(
      /unique/i,
    );
    expect(await available(store, accountId)).toBe(100n);
    expect(await store.findCardPaymentByIntent(String(paymentIntent))).toMatchObject({ id: first });
  });

  it('is taken back as far as the account has it, and the rest from what comes later', async () => {
    const owner = await addAccount(store, { balance: 0n });
    const { accountId } = owner;
    const id = await add(accountId);
    await keep(id, 100n);
    await openJob(store, opening(runningJob(owner), { hold: 70n }));
    await keep(id, 0n);
    expect(await read(id)).toMatchObject({ kept: 0n, credited: 70n });
    expect(await available(store, accountId)).toBe(0n);
    expect((await store.checkLedger()).debts).toEqual([
      expect.stringContaining(`card payment ${id}: account ${accountId} owes 0.00000007 USD of it`),
    ]);
    expect(await store.listCardDebtors(10)).toEqual([]);
    await store.postEntry({ id: newId(), accountId, type: 'topup', amount: 20n, note: null, now: start });
    expect(await store.listCardDebtors(10)).toEqual([accountId]);
    await store.takeCardDebts({ accountId, now: start });
    expect(await read(id)).toMatchObject({ credited: 50n });
    const next = await add(accountId);
    await keep(next, 100n);
    expect(await read(id)).toMatchObject({ credited: 0n });
    expect(await read(next)).toMatchObject({ credited: 100n });
    expect(await available(store, accountId)).toBe(50n);
    expect((await store.checkLedger()).debts).toEqual([]);
    expect((await entriesOf(accountId)).sort()).toEqual(
      ['topup 100', 'adjustment -30', 'topup 20', 'adjustment -20', 'topup 100', 'adjustment -50'].sort(),
    );
  });

  it('is asked about as long as it is open, and removed 30 days after it is known not to come', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    const paid = await add(accountId);
    await keep(paid, 100n);
    const lost = await add(accountId);
    const day = 86_400_000;
    const due = async (now: number) =>
      (await store.takeOpenCardPayments({ isLive: false, now, limit: 100 })).map(({ id }) => id);
    expect(await due(start + 999)).not.toContain(lost);
    const asked = await Promise.all([
      store.takeOpenCardPayments({ isLive: false, now: start + 1_000, limit: 100 }),
      other.takeOpenCardPayments({ isLive: false, now: start + 1_000, limit: 100 }),
    ]);
    expect(asked.flat().filter(({ id }) => id === lost)).toHaveLength(1);
    expect(await store.takeOpenCardPayments({ isLive: true, now: start + day, limit: 100 })).toEqual([]);
    expect(await due(start + 60_999)).not.toContain(lost);
    expect(await due(start + 61_000)).toContain(lost);
    await store.sweepCardPayments({ now: start + 90 * day, limit: 100 });
    await store.changeCardPayment({ ...toChange(await read(lost), 0n), state: 'expired', now: start });
    expect(await due(start + 90 * day)).not.toContain(lost);
    await store.sweepCardPayments({ now: start + 30 * day - 1, limit: 100 });
    expect(await read(lost)).toMatchObject({ state: 'expired' });
    await store.sweepCardPayments({ now: start + 30 * day, limit: 100 });
    expect(await store.getCardPayment(lost)).toBeNull();
    expect(await read(paid)).toMatchObject({ state: 'paid' });
  });

  it('is listed newest first, by account and by state', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    // Those of one millisecond are in no order.
    const [first = '', second = ''] = [newId(), newId()].toSorted();
    for (const id of [first, second]) await add(accountId, 100n, id);
    await keep(first, 100n);
    const list = async (filter: Partial<Parameters<Store['listCardPayments']>[0]>) =>
      (await store.listCardPayments({ before: null, limit: 10, ...filter })).map(({ id }) => id);
    expect((await list({})).slice(0, 2)).toEqual([second, first]);
    expect(await list({ accountId })).toEqual([second, first]);
    expect(await list({ accountId, state: 'paid' })).toEqual([first]);
    expect(await list({ accountId, before: await read(second) })).toEqual([first]);
    expect(await list({ state: 'open', limit: 1 })).toEqual([second]);
  });

  it('keeps the books right, whatever is refunded, reinstated, spent and paid, in any order', async () => {
    const act = fc.oneof(
      fc.record({ pay: fc.constantFrom(0, 1, 2), kept: fc.bigInt({ min: 0n, max: 100n }) }),
      fc.record({ spend: fc.bigInt({ min: 1n, max: 80n }) }),
      fc.constant('take'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 8 }), async (acts) => {
        const { accountId } = await addAccount(store, { balance: 0n });
        const ids = [await add(accountId), await add(accountId), await add(accountId)];
        let spent = 0n;
        for (const one of acts) {
          if (one === 'take') await store.takeCardDebts({ accountId, now: start });
          else if ('pay' in one) await keep(String(ids[one.pay]), one.kept);
          else {
            const entry = { id: newId(), accountId, type: 'adjustment', note: null, now: start } as const;
            const posted = await store.postEntry({ ...entry, amount: -one.spend });
            if (posted.outcome === 'posted') spent += one.spend;
          }
        }
        await store.takeCardDebts({ accountId, now: start });
        const payments = await Promise.all(ids.map(read));
        const kept = payments.reduce((sum, payment) => sum + payment.kept, 0n);
        const owed = payments.reduce((sum, payment) => sum + payment.credited - payment.kept, 0n);
        expect(await available(store, accountId)).toBe(kept > spent ? kept - spent : 0n);
        expect(owed).toBe(spent > kept ? spent - kept : 0n);
        await assertSoundBooks(store);
      }),
      { numRuns: 10 },
    );
  });
});
