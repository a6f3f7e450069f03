import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Payment, Store } from '../../src/store/store.ts';
import { addPayment as addPaymentTo, start } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';
import { type PaymentState } from '../../src/rules/payments.ts';

const sent = { sender: '0xus', transaction: '0xhash', rawTransaction: '0xraw' };

describe.each(testEngines())('the upkeep of payments on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeEach(async () => {
    data = await create();
    ({ store } = data);
  });
  afterEach(() => data.remove());

  const addPayment = (
    state: PaymentState,
    payment: Parameters<typeof addPaymentTo>[2] = {},
  ): Promise<Payment> => addPaymentTo(store, state, payment);
  const settled = (changes: Parameters<typeof addPayment>[1] = {}): Promise<Payment> =>
    addPayment('settled', { ...changes, set: { settledAt: start, payer: '0xpayer', ...changes?.set } });

  describe('a refund', () => {
    const plan = (payment: string, amount: bigint | null, id: string = randomUUID()) =>
      store.planRefund({ id, payment, amount, note: 'sorry', acceptsUnknown: false, now: start });

    const settle = async (id: string) => {
      await store.advanceRefund({ id, from: ['planned'], to: 'sending', set: sent, now: start });
      return store.advanceRefund({ id, from: ['sending'], to: 'settled', now: start });
    };

    it('is planned for a settled payment, to its payer', async () => {
      const payment = await settled({ amount: 100n });
      const planned = await plan(payment.identity, null, 'refund');
      const refund = {
        id: 'refund',
        payment: payment.identity,
        network: payment.network,
        asset: payment.asset,
        recipient: '0xpayer',
        amount: 100n,
        state: 'planned',
        sender: null,
        transaction: null,
        rawTransaction: null,
        reason: null,
        note: 'sorry',
        acceptsUnknown: false,
        createdAt: start,
        updatedAt: start,
      };
      expect(planned).toEqual({ outcome: 'planned', refund });
      expect(await plan(payment.identity, null, 'refund')).toEqual({ outcome: 'exists', refund });
      expect(await store.getRefund('refund')).toEqual(refund);
      expect(await store.getRefund('other')).toBeNull();
    });

    it('is refused if the payment is not settled, has no known payer, or does not exist', async () => {
      const { identity } = await addPayment('unknown', { set: { payer: '0xpayer' } });
      expect(await plan(identity, null)).toEqual({ outcome: 'not_settled' });
      const payerless = await settled({ set: { payer: null } });
      expect(await plan(payerless.identity, null)).toEqual({ outcome: 'no_payer' });
      expect(await plan('nothing', null)).toEqual({ outcome: 'no_payment' });
    });

    it('goes only to the signer of the payment, if its identity names one', async () => {
      const signer = `0x${'ab'.repeat(20)}`;
      const identity = (nonce: number) => `eip155:84532:0xasset:${signer}:${nonce}`;
      await settled({ identity: identity(1), set: { payer: `0x${'cd'.repeat(20)}` } });
      expect(await plan(identity(1), null)).toEqual({ outcome: 'wrong_payer' });
      await settled({ identity: identity(2), set: { payer: `0x${'AB'.repeat(20)}` } });
      expect(await plan(identity(2), null)).toMatchObject({ outcome: 'planned' });
    });

    it('waits until another refund of its payment has ended', async () => {
      const { identity } = await settled({ amount: 100n });
      const both = await Promise.all([plan(identity, 50n, 'one'), plan(identity, 50n, 'other')]);
      const [first] = both.flatMap((planned) => (planned.outcome === 'planned' ? [planned.refund] : []));
      expect(both.map(({ outcome }) => outcome).toSorted()).toEqual(['open', 'planned']);
      expect(await plan(identity, 50n, 'later')).toEqual({ outcome: 'open', refund: first });
      const id = first?.id ?? '';
      await store.advanceRefund({ id, from: ['planned'], to: 'sending', set: sent, now: start });
      expect(await plan(identity, 50n, 'later')).toMatchObject({ outcome: 'open', refund: { id } });
      await store.advanceRefund({ id, from: ['sending'], to: 'settled', now: start });
      expect(await plan(identity, 50n, 'later')).toMatchObject({ outcome: 'planned' });
    });

    it('is sent only if its payment is settled, or unknown if that was accepted', async () => {
      const send = (id: string) =>
        store.advanceRefund({ id, from: ['planned'], to: 'sending', set: sent, now: start });
      const move = (identity: string, from: PaymentState, to: PaymentState) =>
        store.advancePayment({ identity, from: [from], to, now: start });
      const { identity } = await settled({ amount: 100n });
      const refund = { id: randomUUID(), payment: identity, amount: null, note: null, now: start };
      await store.planRefund({ ...refund, acceptsUnknown: false });
      for (const state of ['unknown', 'failed'] as const) {
        await move(identity, state === 'unknown' ? 'settled' : 'unknown', state);
        expect(await send(refund.id)).toBeNull();
        expect(await store.getRefund(refund.id)).toMatchObject({ state: 'planned', rawTransaction: null });
      }
      await move(identity, 'failed', 'delivered');
      expect(await send(refund.id)).toMatchObject({ state: 'sending' });
      // What was sent ends as the chain says, whatever became of the payment.
      await move(identity, 'delivered', 'failed');
      expect(
        await store.advanceRefund({ id: refund.id, from: ['sending'], to: 'settled', now: start }),
      ).toMatchObject({ state: 'settled' });

      const other = await addPayment('unknown', { set: { payer: '0xpayer' } });
      const accepted = { ...refund, id: randomUUID(), payment: other.identity, acceptsUnknown: true };
      await store.planRefund(accepted);
      await move(other.identity, 'unknown', 'failed');
      expect(await send(accepted.id)).toBeNull();
      await move(other.identity, 'failed', 'unknown');
      expect(await send(accepted.id)).toMatchObject({ state: 'sending', acceptsUnknown: true });
    });

    it('of a payment of unknown outcome is planned only on request', async () => {
      const { identity } = await addPayment('unknown', { amount: 100n, set: { payer: '0xpayer' } });
      const refund = { id: 'unknown', payment: identity, amount: null, note: null, now: start };
      expect(await store.planRefund({ ...refund, acceptsUnknown: true })).toMatchObject({
        outcome: 'planned',
        refund: { amount: 100n, recipient: '0xpayer' },
      });
      const failed = await addPayment('failed', { set: { payer: '0xpayer' } });
      expect(
        await store.planRefund({ ...refund, id: 'failed', payment: failed.identity, acceptsUnknown: true }),
      ).toEqual({ outcome: 'not_settled' });
    });

    it('marks a fully refunded payment, until the refund fails', async () => {
      const { identity } = await settled({ amount: 100n });
      const isRefunded = async () => (await store.getPayment(identity))?.isRefunded;
      await plan(identity, 60n, 'part');
      expect(await isRefunded()).toBe(false);
      await settle('part');
      await plan(identity, 40n, 'rest');
      expect(await isRefunded()).toBe(true);
      await store.advanceRefund({ id: 'rest', from: ['planned'], to: 'failed', now: start });
      expect(await isRefunded()).toBe(false);
      await plan(identity, null, 'again');
      expect(await isRefunded()).toBe(true);
      await store.advanceRefund({ id: 'again', from: ['sending'], to: 'failed', now: start });
      expect(await isRefunded()).toBe(true);
    });

    it('never exceeds the payment in sum, with refunds planned, ended and failed at the same time', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.bigInt({ min: 1n, max: 60n }), { maxLength: 8 }), async (amounts) => {
          const { identity } = await settled({ amount: 100n });
          let total = 0n;
          const planAndSettle = async (amount: bigint) => {
            const planned = await plan(identity, amount);
            if (planned.outcome !== 'planned') return;
            total += (await settle(planned.refund.id))?.amount ?? 0n;
          };
          await Promise.all(amounts.map(planAndSettle));
          expect(total).toBeLessThanOrEqual(100n);
          const left = await plan(identity, 101n - total);
          expect(left).toEqual({ outcome: 'too_much', left: 100n - total });
          if (total === 100n) return;
          const given = await plan(identity, null);
          if (given.outcome !== 'planned') throw new Error(given.outcome);
          await store.advanceRefund({ id: given.refund.id, from: ['planned'], to: 'failed', now: start });
          expect(await plan(identity, 100n - total)).toMatchObject({ outcome: 'planned' });
        }),
        { numRuns: 10 },
      );
    });

    it('moves only from a state it is in, and is listed until it ends', async () => {
      const { identity } = await settled({ amount: 100n });
      const another = await settled({ amount: 100n });
      await plan(identity, 10n, 'a');
      await plan(another.identity, 20n, 'b');
      const send = () =>
        store.advanceRefund({ id: 'a', from: ['planned'], to: 'sending', set: sent, now: start + 1 });
      const [one, other] = await Promise.all([send(), send()]);
      expect([one, other].filter((moved) => moved !== null)).toMatchObject([{ ...sent, state: 'sending' }]);
      const open = async () => (await store.listRefunds({ payment: null, limit: 9 })).map(({ id }) => id);
      expect(await open()).toEqual(['a', 'b']);
      await store.advanceRefund({ id: 'a', from: ['sending'], to: 'settled', now: start + 2 });
      await store.advanceRefund({
        id: 'b',
        from: ['planned'],
        to: 'failed',
        set: { reason: 'x' },
        now: start,
      });
      expect(await open()).toEqual([]);
      expect(await store.listRefunds({ payment: identity, limit: 9 })).toMatchObject([
        { id: 'a', state: 'settled', transaction: '0xhash' },
      ]);
      expect(await store.listRefunds({ payment: another.identity, limit: 9 })).toMatchObject([
        { id: 'b', state: 'failed', reason: 'x' },
      ]);
    });
  });

  describe('the list of all refunds', () => {
    it('is read page by page, newest first, in every state', async () => {
      for (const [index, at] of [1, 3, 2, 3, 3].entries())
        await store.planRefund({
          id: `r${index}`,
          payment: (await settled()).identity,
          amount: 1n,
          note: null,
          acceptsUnknown: false,
          now: start + at,
        });
      await store.advanceRefund({ id: 'r2', from: ['planned'], to: 'failed', now: start + 9 });
      const page = (before: { createdAt: number; id: string } | null) =>
        store.listNewestRefunds({ before, limit: 2 });
      const first = await page(null);
      expect(first.map(({ id }) => id)).toEqual(['r4', 'r3']);
      const second = await page({ createdAt: start + 3, id: 'r3' });
      expect(second.map(({ id }) => id)).toEqual(['r1', 'r2']);
      const third = await page({ createdAt: start + 2, id: 'r2' });
      expect(third.map(({ id }) => id)).toEqual(['r0']);
    });
  });
});
