import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  idempotencyKey,
  newPayment,
  openJob,
  opening,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';
import type { PaymentState } from '../../src/rules/payments.ts';

describe.each(testEngines())('the call of an idempotency key on $kind', ({ create }) => {
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

  const advance = async (identity: string, from: PaymentState, to: PaymentState): Promise<void> => {
    const accountId = (await store.getPayment(identity))?.accountId ?? null;
    const change = { identity, from: [from], to, now: start };
    expect(await store.advanceCredit({ change, accountId, entryId: newId() })).not.toBeNull();
  };
  const verified = async ({ accountId }: Owner): Promise<string> => {
    const { payment } = await store.reservePayment(newPayment({ accountId, credit: 100n }));
    await advance(payment.identity, 'reserved', 'verified');
    return payment.identity;
  };
  const claim = (
    { accountId }: Owner,
    payment: string,
    { key = 'call', now = start, handle = store }: { key?: string; now?: number; handle?: Store } = {},
  ) => handle.claimCall({ ...idempotencyKey(key), accountId, payment, now });

  it('is claimed by one of many payments at once, and by that one again', async () => {
    const owner = await addAccount(store);
    const payments = await Promise.all(Array.from({ length: 20 }, () => verified(owner)));
    const claims = await Promise.all(
      payments.map((payment, index) => claim(owner, payment, { handle: index % 2 === 0 ? store : other })),
    );
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await Promise.all(payments.map((payment) => claim(owner, payment)))).toEqual(claims);
  });

  it('is not that of another key, or of another account', async () => {
    const [one, two] = [await addAccount(store), await addAccount(store)];
    expect(await claim(one, await verified(one))).toBe(true);
    expect(await claim(one, await verified(one), { key: 'another' })).toBe(true);
    expect(await claim(two, await verified(two))).toBe(true);
  });

  it.each(['rejected', 'failed'] as const)('is free again when its payment is %s', async (end) => {
    const owner = await addAccount(store);
    const [first, second] = [await verified(owner), await verified(owner)];
    expect(await claim(owner, first)).toBe(true);
    expect(await claim(owner, second)).toBe(false);
    await advance(first, 'verified', end);
    expect(await claim(owner, second)).toBe(true);
  });

  it('is free again when its job is opened, which the key then finds', async () => {
    const owner = await addAccount(store);
    const [first, second] = [await verified(owner), await verified(owner)];
    await claim(owner, first);
    await advance(first, 'verified', 'settled');
    expect(await claim(owner, second)).toBe(false);
    const payment = { identity: first, most: null };
    await openJob(store, opening(runningJob(owner), { payment, idempotency: idempotencyKey('call') }));
    expect(await claim(owner, second)).toBe(true);
  });

  it('is free again two minutes after a settlement that opened no job, and not while one is under way', async () => {
    const owner = await addAccount(store);
    const [first, second] = [await verified(owner), await verified(owner)];
    await claim(owner, first);
    expect(await claim(owner, second, { now: start + 10 ** 9 })).toBe(false);
    await advance(first, 'verified', 'settled');
    expect(await claim(owner, second, { now: start + 120_000 })).toBe(false);
    expect(await claim(owner, second, { now: start + 120_001 })).toBe(true);
  });
});
