import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/kit/ids.ts';
import { createTokenTexts } from '../../../src/payments/records/token-amount.ts';
import { readRefundIntent, type RefundIntent } from '../../../src/payments/refunds/refund-intent.ts';
import type { Store } from '../../../src/store/store.ts';
import { addAccount, available, newPayment, start } from '../../store/builders.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

const [engine] = testEngines();

describe('a refund of a payment that took less than its buyer signed', () => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await engine!.create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  /** A payment of 0.30 USDC, of the 1.00 that was signed. It raises the balance by as much. */
  const addMetered = async (accountId: string): Promise<string> => {
    const asset = '0x036cbd53842c5426634e7929541ec2318f3dcf7e';
    const payment = newPayment({ accountId, credit: 1_000_000_000n, amount: 1_000_000n, asset });
    const { identity } = payment;
    await store.reservePayment(payment);
    const set = { payer: '0x1234', settledAmount: 300_000n, credit: 300_000_000n };
    const change = { identity, from: ['reserved' as const], to: 'settled' as const, set, now: start };
    await store.advanceCredit({ change, accountId, entryId: newId() });
    return identity;
  };
  const read = (payment: string, amount: string | null): Promise<RefundIntent> =>
    readRefundIntent(
      { id: newId(), payment, amount, acceptsUnknown: false },
      { store, clock: { now: () => start }, tokens: createTokenTexts([]) },
    );

  it('needs no more of the balance than the payment raised it by', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    const payment = await addMetered(accountId);
    expect(await available(store, accountId)).toBe(300_000_000n);
    expect(await read(payment, null)).toMatchObject({ amount: 300_000n });
    expect(await read(payment, '0.10')).toMatchObject({ amount: 100_000n });
    await expect(read(payment, '0.31')).rejects.toMatchObject({ code: 'refund_too_large' });
  });

  it('is refused, with what it needs, when the balance is spent', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    const payment = await addMetered(accountId);
    const spent = { id: newId(), accountId, type: 'adjustment' as const, amount: -200_000_000n };
    await store.postEntry({ ...spent, note: null, now: start });
    await expect(read(payment, null)).rejects.toThrow('takes $0.30 from it, but $0.10 is available');
    expect(await read(payment, '0.10')).toMatchObject({ amount: 100_000n });
  });
});
