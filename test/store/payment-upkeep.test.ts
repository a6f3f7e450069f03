import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ListedPayment, Payment, Store } from '../../src/store/store.ts';
import { addPayment as addPaymentTo, newPayment, start } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';
import { paymentStates, type PaymentState } from '../../src/rules/payments.ts';

const day = 86_400_000;
const networks = { base: 'eip155:8453', bnb: 'eip155:56' } as const;

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

  describe('a look at what is due', () => {
    it('is claimed once, longest due first, and postponed for others', async () => {
      for (const [index, checkAt] of [start + 30, start + 10, start + 20, start + 99, null].entries())
        await addPayment('unknown', { identity: `p${index}`, set: { checkAt } });
      const claim = async (limit: number) =>
        (await store.claimPaymentChecks({ now: start + 30, until: start + 60, limit })).map(
          ({ identity, checkAt }) => [identity, checkAt],
        );
      expect(await claim(2)).toEqual(
        expect.arrayContaining([
          ['p1', start + 60],
          ['p2', start + 60],
        ]),
      );
      const both = await Promise.all([claim(10), claim(10)]);
      expect(both.flat()).toEqual([['p0', start + 60]]);
      expect(await claim(10)).toEqual([]);
      expect((await store.claimPaymentChecks({ now: start + 60, until: start + 90, limit: 10 })).length).toBe(
        3,
      );
    });

    it('is due for a reserved proof when its lease ends', async () => {
      const { identity, leaseUntil } = newPayment();
      await store.reservePayment(newPayment({ identity }));
      expect(await store.claimPaymentChecks({ now: leaseUntil - 1, until: leaseUntil, limit: 10 })).toEqual(
        [],
      );
      expect(
        await store.claimPaymentChecks({ now: leaseUntil, until: leaseUntil + 9, limit: 10 }),
      ).toMatchObject([{ identity, checkAt: leaseUntil + 9, updatedAt: start }]);
    });
  });

  describe('an identifier of the buyer’s', () => {
    it('belongs to the first proof that comes with it', async () => {
      const paymentId = randomUUID();
      const first = newPayment({ paymentId });
      expect(await store.reservePayment(first)).toMatchObject({
        outcome: 'reserved',
        payment: { paymentId },
      });
      expect(await store.reservePayment(newPayment({ paymentId }))).toMatchObject({
        outcome: 'payment_id_taken',
        payment: { identity: first.identity },
      });
      expect(await store.reservePayment(first)).toMatchObject({ outcome: 'exists' });
      expect(await store.findPaymentById(paymentId)).toMatchObject({ identity: first.identity });
      expect(await store.findPaymentById('another')).toBeNull();
    });

    it.each(['rejected', 'failed'] as const)('is free again when its proof is %s', async (state) => {
      const paymentId = randomUUID();
      const first = await addPayment(state, { paymentId });
      expect(first.paymentId).toBeNull();
      const second = newPayment({ paymentId });
      expect(await store.reservePayment(second)).toMatchObject({ outcome: 'reserved' });
      // The refused proof comes again, with the identifier that is another's by now.
      expect(await store.reservePayment(newPayment({ identity: first.identity, paymentId }))).toMatchObject(
        state === 'rejected'
          ? { outcome: 'payment_id_taken', payment: { identity: second.identity } }
          : { outcome: 'exists', payment: { identity: first.identity } },
      );
    });

    it('is given to one of many proofs that bring it at once', async () => {
      const paymentId = randomUUID();
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, () => store.reservePayment(newPayment({ paymentId }))),
      );
      const [winner, ...others] = outcomes.filter(({ outcome }) => outcome === 'reserved');
      expect(others).toEqual([]);
      for (const { outcome, payment } of outcomes)
        if (outcome !== 'reserved')
          expect([outcome, payment.identity]).toEqual(['payment_id_taken', winner?.payment.identity]);
    });
  });

  describe('pruning', () => {
    it('deletes old rejected proofs and old answers that are delivered or unpaid in batches, and nothing else', async () => {
      const old = { now: start };
      const answer = { result: '{"results":[]}' };
      for (const state of ['rejected', 'settled', 'failed', 'unknown', 'produced'] as const)
        await addPayment(state, { ...old, identity: `old ${state}`, set: answer });
      await addPayment('rejected', { ...old, identity: 'old rejected 2' });
      await addPayment('delivered', { ...old, identity: 'old delivered', set: answer });
      await addPayment('rejected', { now: start + 10, identity: 'new rejected' });
      await addPayment('delivered', { now: start + 10, identity: 'new delivered', set: answer });
      const prune = (limit: number) =>
        store.prunePayments({ rejectedBefore: start + 10, deliveredBefore: start + 10, limit });
      expect(await prune(1)).toBe(2);
      expect(await prune(10)).toBe(2);
      expect(await prune(10)).toBe(0);
      const left = await store.listPayments({ limit: 20 });
      expect(left.map(({ identity }) => identity).toSorted()).toEqual([
        'new delivered',
        'new rejected',
        'old delivered',
        'old failed',
        'old produced',
        'old settled',
        'old unknown',
      ]);
      const whole = await Promise.all(left.map(async ({ identity }) => store.getPayment(identity)));
      const without = whole.flatMap((payment) => (payment?.result === null ? payment.identity : []));
      expect(without.toSorted()).toEqual(['new rejected', 'old delivered', 'old failed']);
      expect(await store.getPayment('old delivered')).toMatchObject({ state: 'delivered', updatedAt: start });
    });
  });

  describe('sums', () => {
    it('are grouped by network, asset and day of settlement, refunds by their own day', async () => {
      const wei = 10n ** 17n;
      // A hundred times a tenth of a dollar with 18 decimals is more than 64 bits hold in one sum.
      for (let index = 0; index < 100; index += 1)
        await settled({
          network: networks.bnb,
          asset: '0xbnb',
          amount: wei,
          set: { settledAt: start + index },
        });
      const paid = await settled({ network: networks.base, asset: '0xusdc', amount: 100_000n });
      await settled({ network: networks.base, asset: '0xusdc', amount: 5n, set: { settledAt: start + day } });
      await addPayment('unknown', { network: networks.base, asset: '0xusdc', amount: 7n });
      const id = randomUUID();
      await store.planRefund({
        id,
        payment: paid.identity,
        amount: 40_000n,
        note: null,
        acceptsUnknown: false,
        now: start,
      });
      const sent = { sender: '0xus', transaction: '0xhash', rawTransaction: '0xraw' };
      await store.advanceRefund({ id, from: ['planned'], to: 'sending', set: sent, now: start });
      const sums = () => store.sumPayments({ from: start, to: start + 2 * day });
      const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
      const before = await sums();
      await store.advanceRefund({ id, from: ['sending'], to: 'settled', now: start + day });
      const none = { refunds: 0, refunded: 0n };
      expect(before).toEqual([
        {
          network: networks.bnb,
          asset: '0xbnb',
          day: dayOf(start),
          payments: 100,
          amount: 100n * wei,
          ...none,
        },
        {
          network: networks.base,
          asset: '0xusdc',
          day: dayOf(start),
          payments: 1,
          amount: 100_000n,
          ...none,
        },
        {
          network: networks.base,
          asset: '0xusdc',
          day: dayOf(start + day),
          payments: 1,
          amount: 5n,
          ...none,
        },
      ]);
      expect((await sums()).at(-1)).toMatchObject({ payments: 1, amount: 5n, refunds: 1, refunded: 40_000n });
      expect(await store.sumPayments({ from: start + 2 * day, to: start + 3 * day })).toEqual([]);
    });

    it('match the list of single payments in the order of settlement', async () => {
      for (const [index, at] of [30, 10, 20, 20, 99].entries())
        await settled({ identity: `p${index}`, set: { settledAt: start + at } });
      const page = (after: { settledAt: number; identity: string } | null) =>
        store.listSettledPayments({ from: start + 10, to: start + 99, after, limit: 2 });
      const first = await page(null);
      expect(first.map(({ identity }) => identity)).toEqual(['p1', 'p2']);
      const second = await page({ settledAt: start + 20, identity: 'p2' });
      expect(second.map(({ identity }) => identity)).toEqual(['p3', 'p0']);
      expect(await page({ settledAt: start + 30, identity: 'p0' })).toEqual([]);
    });
  });

  describe('a list of payments', () => {
    const identitiesOf = (payments: Pick<Payment, 'identity'>[]): string[] =>
      payments.map(({ identity }) => identity);

    /** All that match, page by page, each page asked for below the last row of the one before. */
    const walk = async (filter: Omit<Parameters<Store['listPayments']>[0], 'limit'>): Promise<string[]> => {
      const seen: ListedPayment[] = [];
      for (;;) {
        const page = await store.listPayments({ ...filter, before: seen.at(-1), limit: 3 });
        seen.push(...page);
        if (page.length < 3) return identitiesOf(seen);
      }
    };

    it('is read page by page, newest first, by state, by network and by both', async () => {
      const states = ['delivered', 'unknown', 'rejected'] as const;
      const added: Payment[] = [];
      for (let index = 0; index < 24; index += 1)
        added.push(
          await addPayment(states[index % 3] ?? 'unknown', {
            identity: `p${String(index).padStart(2, '0')}`,
            network: index % 2 === 0 ? networks.base : networks.bnb,
            // Several of one moment, of which identities decide.
            now: start + Math.floor(index / 4),
          }),
        );
      const newest = added.toReversed();
      const those = (isMeant: (payment: Payment) => boolean): string[] =>
        identitiesOf(newest.filter(isMeant));
      expect(await walk({})).toEqual(identitiesOf(newest));
      expect(await walk({ states: ['unknown', 'rejected'] })).toEqual(
        those(({ state }) => state !== 'delivered'),
      );
      expect(await walk({ network: networks.bnb })).toEqual(those(({ network }) => network === networks.bnb));
      expect(await walk({ network: networks.base, states: ['rejected', 'delivered'] })).toEqual(
        those(({ network, state }) => network === networks.base && state !== 'unknown'),
      );
      expect(await walk({ network: networks.base, updatedBefore: start + 2 })).toEqual(
        those(({ network, updatedAt }) => network === networks.base && updatedAt < start + 2),
      );
      expect(await walk({ states: ['unknown'], updatedBefore: start + 2 })).toEqual(
        those(({ state, updatedAt }) => state === 'unknown' && updatedAt < start + 2),
      );
      expect(await walk({ network: 'eip155:5' })).toEqual([]);
      expect(await walk({ network: networks.base, states: [] })).toEqual([]);
    });

    it('of a network has every state', async () => {
      for (const state of paymentStates)
        if (state === 'reserved') await store.reservePayment(newPayment({ network: networks.base }));
        else await addPayment(state, { network: networks.base });
      const listed = await store.listPayments({ network: networks.base, limit: 20 });
      expect(listed.map(({ state }) => state).toSorted()).toEqual(paymentStates.toSorted());
    });

    it('leaves out the proof, the sold answer and the signed transaction, which are long', async () => {
      const set = { result: '{}', rawTransaction: '0xraw' };
      const { payload: _, result, rawTransaction, ...short } = await addPayment('unknown', { set });
      expect({ result, rawTransaction }).toEqual(set);
      for (const filter of [{}, { states: ['unknown'] as const }, { network: short.network }])
        expect(await store.listPayments({ ...filter, limit: 1 })).toStrictEqual([short]);
    });

    it('takes a network by its whole name', async () => {
      await addPayment('unknown', { network: 'eip155:84532' });
      expect(await store.listPayments({ network: 'eip155:8453', limit: 9 })).toEqual([]);
    });
  });

  describe('a look-up of payments', () => {
    const byPrefix = async (prefix: string, limit = 9): Promise<string[]> =>
      (await store.findPaymentsByPrefix({ prefix, limit })).map(({ identity }) => identity);
    const byTransaction = async (transaction: string): Promise<string[]> =>
      (await store.findPaymentsByTransaction({ transaction, limit: 9 })).map(({ identity }) => identity);

    it('finds a prefix of an identity, of its last part, or of a transaction', async () => {
      const evm = 'eip155:8453:0xusdc:0xpayer:0xabcdef12';
      const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:abcdef34';
      await addPayment('settled', { identity: evm, set: { transaction: '0xAB12cd' } });
      await addPayment('settled', { identity: solana, set: { transaction: '5hJQzyx' } });
      await addPayment('unknown', { identity: 'without parts' });
      for (const [prefix, found] of [
        ['eip155:8453:0x', [evm]],
        [evm, [evm]],
        [`${evm}3`, []],
        ['solana:5', [solana]],
        ['solana:5EYKT', []],
        ['0xabcdef', [evm]],
        ['abcdef', [solana]],
        ['abcdef34', [solana]],
        ['0xab', [evm]],
        ['0xab12', [evm]],
        ['0xAB12', []],
        ['5hJQ', [solana]],
        ['5hjq', []],
        ['without', ['without parts']],
        ['0xpayer', []],
        ['~', []],
        ['é', []],
        ['', [evm, solana, 'without parts']],
      ] as const)
        expect([prefix, await byPrefix(prefix)]).toEqual([prefix, found]);
    });

    it('finds all payments of one transaction, and only those', async () => {
      await addPayment('settled', { identity: 'b', set: { transaction: '0xAAbb' } });
      await addPayment('settled', { identity: 'a', set: { transaction: '0xaaBB' } });
      await addPayment('settled', { identity: 'c', set: { transaction: '0xaabbcc' } });
      await addPayment('unknown', { identity: 'd' });
      expect(await byTransaction('0xaabb')).toEqual(['a', 'b']);
      expect(await byTransaction('0xaa')).toEqual([]);
      expect(await store.findPaymentsByTransaction({ transaction: '0xaabb', limit: 1 })).toHaveLength(1);
    });

    it('finds a transaction that is stored later, or changes', async () => {
      const { identity } = await addPayment('broadcasting', { set: { transaction: '0xfirst' } });
      const set = { transaction: '0xsecond' };
      await store.advancePayment({ identity, from: ['broadcasting'], to: 'settled', set, now: start });
      expect([await byTransaction('0xfirst'), await byPrefix('0xfir')]).toEqual([[], []]);
      expect([await byTransaction('0xsecond'), await byPrefix('0xsec')]).toEqual([[identity], [identity]]);
    });

    it('returns at most `limit` of each kind, with exact matches among them', async () => {
      for (const nonce of ['1234561', '1234562', '123456', '1234560'])
        await addPayment('unknown', { identity: `eip155:56:0xpermit2:0xpayer:${nonce}` });
      const found = await byPrefix('123456', 2);
      expect(found).toHaveLength(2);
      expect(found).toContain('eip155:56:0xpermit2:0xpayer:123456');
    });
  });

  describe('terms that were offered', () => {
    it('are stored with the last time, and deleted later', async () => {
      const note = (terms: string, offeredAt: number) =>
        store.noteOfferedTerms({
          fingerprint: terms,
          terms,
          offeredAt,
          forgetBefore: offeredAt - 1_000,
        });
      await note('flat', start);
      await note('dynamic', start + 500);
      await note('flat', start + 100);
      await note('flat', start + 50);
      expect(await store.listOfferedTerms({ since: start })).toEqual([
        { terms: 'dynamic', offeredAt: start + 500 },
        { terms: 'flat', offeredAt: start + 100 },
      ]);
      expect(await store.listOfferedTerms({ since: start + 101 })).toHaveLength(1);
      await note('dynamic', start + 1_200);
      expect(await store.listOfferedTerms({ since: start })).toHaveLength(1);
    });
  });

  describe('the turn of a sender', () => {
    it('belongs to one process at a time, until it is ended or expires', async () => {
      const take = (owner: string, now = start) =>
        store.takeAccountLease({ sender: 'account', owner, until: now + 100, now });
      const taken = await Promise.all(Array.from({ length: 10 }, (_, index) => take(`owner ${index}`)));
      expect(taken.filter(Boolean)).toHaveLength(1);
      const holder = `owner ${taken.indexOf(true)}`;
      expect(await take(holder, start + 50)).toBe(true);
      expect(await take('other', start + 149)).toBe(false);
      expect(
        await store.takeAccountLease({ sender: 'account 2', owner: 'other', until: start, now: start }),
      ).toBe(true);
      await store.endAccountLease({ sender: 'account', owner: 'other' });
      expect(await take('other', start + 149)).toBe(false);
      expect(await take('other', start + 150)).toBe(true);
      await store.endAccountLease({ sender: 'account', owner: 'other' });
      expect(await take('third', start + 151)).toBe(true);
    });
  });
});
