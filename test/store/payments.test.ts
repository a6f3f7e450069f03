import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PaymentState, Store } from '../../src/store/store.ts';
import { newPayment, start, worker } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(await testEngines())('payments on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  it('reserves a proof once and tells what is known of it to who comes second', async () => {
    const { now, ...payment } = newPayment();
    const expected = {
      ...payment,
      state: 'reserved',
      payer: null,
      result: null,
      transaction: null,
      rawTransaction: null,
      receipt: null,
      reason: null,
      facilitator: null,
      checkAt: payment.leaseUntil,
      settledAt: null,
      isRefunded: false,
      createdAt: now,
      updatedAt: now,
    };
    expect(await store.reservePayment({ ...payment, now })).toEqual({
      outcome: 'reserved',
      payment: expected,
    });
    const second = await store.reservePayment({ ...payment, requestHash: 'request-2', now: start + 1 });
    expect(second).toEqual({ outcome: 'exists', payment: expected });
    expect(await store.getPayment(payment.identity)).toEqual(expected);
  });

  it('gives a proof that many present at once to one of them', async () => {
    const payment = newPayment();
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        store.reservePayment({ ...payment, leaseOwner: `worker-${index}` }),
      ),
    );
    const reserved = outcomes.filter(({ outcome }) => outcome === 'reserved');
    expect(reserved).toHaveLength(1);
    for (const { payment: seen } of outcomes) expect(seen.leaseOwner).toBe(reserved[0]?.payment.leaseOwner);
  });

  it('takes up a rejected proof anew, for whatever request it comes with', async () => {
    const payment = newPayment();
    const { identity } = payment;
    await store.reservePayment(payment);
    await store.advancePayment({
      identity,
      from: ['reserved'],
      to: 'rejected',
      set: { reason: 'insufficient_funds', payer: '0xbuyer', leaseOwner: null, leaseUntil: null },
      now: start + 1,
    });
    const again = await store.reservePayment({
      ...payment,
      requestHash: 'request-2',
      amount: 7n,
      leaseOwner: 'worker-2',
      now: start + 2,
    });
    expect(again).toMatchObject({
      outcome: 'reserved',
      payment: {
        state: 'reserved',
        requestHash: 'request-2',
        amount: 7n,
        leaseOwner: 'worker-2',
        reason: null,
        payer: null,
        createdAt: start,
        updatedAt: start + 2,
      },
    });
  });

  it('moves a payment only from a state it is in, and only for the owner of its lease', async () => {
    const { identity } = (await store.reservePayment(newPayment())).payment;
    const move = (from: PaymentState[], owner?: string) =>
      store.advancePayment({
        identity,
        from,
        to: 'verified',
        ...(owner === undefined ? {} : { owner }),
        now: start + 1,
      });
    expect(await move(['verified', 'produced'])).toBeNull();
    expect(await move([])).toBeNull();
    expect(await move(['reserved'], 'worker-2')).toBeNull();
    expect((await store.getPayment(identity))?.state).toBe('reserved');
    expect(await move(['reserved', 'unknown'], worker)).toMatchObject({
      state: 'verified',
      updatedAt: start + 1,
    });
    expect(await move(['reserved'], worker)).toBeNull();
    expect(
      await store.advancePayment({ identity: 'nothing', from: ['reserved'], to: 'failed', now: start }),
    ).toBeNull();
  });

  it('lets one of many advance a payment', async () => {
    const { identity } = (await store.reservePayment(newPayment())).payment;
    const moved = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        store.advancePayment({
          identity,
          from: ['reserved'],
          to: 'verified',
          set: { payer: `0x${index}` },
          now: start,
        }),
      ),
    );
    expect(moved.filter((payment) => payment !== null)).toHaveLength(1);
  });

  it('sets every named field, clears with null and leaves the rest', async () => {
    const { identity } = (await store.reservePayment(newPayment())).payment;
    const set = {
      payer: '0xbuyer',
      result: '{"data":[]}',
      transaction: '0xhash',
      rawTransaction: '0xraw',
      receipt: '{"success":true}',
      reason: 'why',
      leaseOwner: 'worker-2',
      leaseUntil: start + 77,
      facilitator: 'https://facilitator.example',
      checkAt: start + 78,
      settledAt: start + 79,
    };
    const full = await store.advancePayment({
      identity,
      from: ['reserved'],
      to: 'broadcasting',
      set,
      now: start + 1,
    });
    expect(full).toMatchObject({ ...set, state: 'broadcasting' });
    const cleared = await store.advancePayment({
      identity,
      from: ['broadcasting'],
      to: 'settled',
      set: { reason: null, leaseOwner: null, leaseUntil: null },
      now: start + 2,
    });
    expect(cleared).toMatchObject({
      ...set,
      state: 'settled',
      reason: null,
      leaseOwner: null,
      leaseUntil: null,
    });
  });

  it('lists newest first, by state and by last change', async () => {
    const fresh = await create();
    try {
      const states: PaymentState[] = ['reserved', 'unknown', 'settled', 'unknown'];
      for (const [index, state] of states.entries()) {
        await fresh.store.reservePayment(newPayment({ identity: `p${index}`, now: start + index }));
        if (state !== 'reserved')
          await fresh.store.advancePayment({
            identity: `p${index}`,
            from: ['reserved'],
            to: state,
            now: start + 100 - index,
          });
      }
      const list = async (input: Parameters<Store['listPayments']>[0]) =>
        (await fresh.store.listPayments(input)).map(({ identity }) => identity);
      expect(await list({ limit: 10 })).toEqual(['p3', 'p2', 'p1', 'p0']);
      expect(await list({ limit: 2 })).toEqual(['p3', 'p2']);
      expect(await list({ states: ['unknown'], limit: 10 })).toEqual(['p3', 'p1']);
      expect(await list({ states: ['unknown', 'settled'], updatedBefore: start + 99, limit: 10 })).toEqual([
        'p3',
        'p2',
      ]);
      expect(await list({ states: [], limit: 10 })).toEqual([]);
    } finally {
      await fresh.remove();
    }
  });
});
