import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewPayment, Store } from '../../src/store/store.ts';
import { newPayment, start, worker } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';
import type { PaymentState } from '../../src/rules/payments.ts';

describe.each(testEngines())('payments on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  it('reserves a proof once, and returns the known payment the second time', async () => {
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
      settledAmount: null,
      isRefunded: false,
      reverts: 0,
      source: null,
      client: null,
      creditEntry: null,
      credited: 0n,
      jobId: null,
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

  it('reserves a proof once that many present at the same time', async () => {
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

  it('reserves a rejected proof again, for any request', async () => {
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

  const reserveFrom = async (changes: Partial<NewPayment> = {}): Promise<string> => {
    const { payment } = await store.reservePayment(newPayment({ amount: 10n, ...changes }));
    return payment.identity;
  };
  const verify = (
    identity: string,
    {
      source,
      funds,
      by = store,
      now = start,
      ...limits
    }: { source: string; funds: bigint; by?: Store; now?: number; maxOpen?: number },
  ) =>
    by.verifyPayment({
      change: { identity, from: ['reserved'], to: 'verified', owner: worker, set: { source }, now },
      source,
      funds,
      maxOpen: 20,
      reverts: { limit: 3, since: now - 3_600_000 },
      ...limits,
    });

  it('verifies no more payments from one source than its funds cover, over all processes', async () => {
    const source = randomUUID();
    const another = await data.openAnother();
    const identities = await Promise.all(Array.from({ length: 12 }, () => reserveFrom()));
    const outcomes = await Promise.all(
      identities.map((identity, index) =>
        verify(identity, { source, funds: 35n, by: index % 2 === 0 ? store : another }),
      ),
    );
    expect(outcomes.filter((outcome) => outcome?.outcome === 'verified')).toHaveLength(3);
    expect(outcomes.filter((outcome) => outcome?.outcome === 'uncovered')).toHaveLength(9);
    expect(outcomes).toContainEqual({ outcome: 'uncovered', unsent: 30n, sent: 0n });
  });

  it('verifies no more payments from one source than may be open at once', async () => {
    const source = randomUUID();
    const another = await data.openAnother();
    const identities = await Promise.all(Array.from({ length: 6 }, () => reserveFrom()));
    const outcomes = await Promise.all(
      identities.map((identity, index) =>
        verify(identity, { source, funds: 1_000n, by: index % 2 === 0 ? store : another, maxOpen: 4 }),
      ),
    );
    expect(outcomes.filter((one) => one?.outcome === 'verified')).toHaveLength(4);
    expect(outcomes.filter((one) => one?.outcome === 'too_many_open')).toHaveLength(2);
  });

  it('verifies nothing more from a source whose settlements were reverted, for an hour', async () => {
    const source = randomUUID();
    const revert = async (reverts: number): Promise<void> => {
      const identity = await reserveFrom();
      await verify(identity, { source, funds: 1_000n });
      await store.advancePayment({
        identity,
        from: ['verified'],
        to: 'failed',
        set: { reverts },
        now: start,
      });
    };
    const next = await reserveFrom();
    await revert(2);
    expect(await verify(next, { source, funds: 1_000n, maxOpen: 0 })).toEqual({ outcome: 'too_many_open' });
    await revert(1);
    expect(await verify(next, { source, funds: 1_000n })).toEqual({ outcome: 'too_many_reverts' });
    const elsewhere = await reserveFrom({ network: 'eip155:1' });
    expect((await verify(elsewhere, { source, funds: 1_000n }))?.outcome).toBe('verified');
    const later = await verify(next, { source, funds: 1_000n, now: start + 3_600_000 });
    expect(later?.outcome).toBe('verified');
  });

  it('counts only open payments of the same source, network and asset', async () => {
    const source = randomUUID();
    const open = async (state: PaymentState | null, changes?: Partial<NewPayment>): Promise<void> => {
      const identity = await reserveFrom(changes);
      expect((await verify(identity, { source, funds: 1_000n }))?.outcome).toBe('verified');
      if (state !== null) await store.advancePayment({ identity, from: ['verified'], to: state, now: start });
    };
    await open(null);
    await open('produced');
    await open('broadcasting');
    await open('unknown');
    for (const state of ['settled', 'delivered', 'rejected', 'failed'] as const) await open(state);
    await open(null, { network: 'eip155:1' });
    await open(null, { asset: '0xother' });
    const identity = await reserveFrom();
    expect(await verify(identity, { source, funds: 49n })).toEqual({
      outcome: 'uncovered',
      unsent: 20n,
      sent: 20n,
    });
    expect(await verify(identity, { source, funds: 50n })).toMatchObject({
      outcome: 'verified',
      payment: { identity, state: 'verified', source },
    });
    expect(await verify(identity, { source, funds: 50n })).toBeNull();
  });

  it('counts a payment that nobody works on as perhaps sent, for at most a day', async () => {
    const source = randomUUID();
    const givenUp = await reserveFrom({ leaseUntil: start + 30_000 });
    expect((await verify(givenUp, { source, funds: 10n }))?.outcome).toBe('verified');
    const lost = await reserveFrom();
    expect((await verify(lost, { source, funds: 20n }))?.outcome).toBe('verified');
    await store.advancePayment({ identity: lost, from: ['verified'], to: 'unknown', now: start });
    const next = await reserveFrom();
    const at = (now: number) => verify(next, { source, funds: 10n, now });
    expect(await at(start + 29_999)).toEqual({ outcome: 'uncovered', unsent: 10n, sent: 10n });
    expect(await at(start + 30_000)).toEqual({ outcome: 'uncovered', unsent: 0n, sent: 20n });
    const day = 86_400_000;
    expect(await at(start + day - 1)).toEqual({ outcome: 'uncovered', unsent: 0n, sent: 20n });
    expect(await at(start + day)).toMatchObject({ outcome: 'verified' });
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
