import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PaymentRefund, Store } from '../../../src/store/store.ts';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
import { walk, watchRequests, watchStore } from '../crash/steps.ts';
import { briefly, openRefundSite, paid, type RefundSite } from './refund-site.ts';

/** Longer than the turn of a process that died, and than a Solana transaction lives. */
const laterMs = 200_000;

let chains: Chains;
let store: Store;
let data: TestStore;
let unwatch: () => void;
const engines = testEngines();

beforeAll(async () => {
  chains = await startChains();
  unwatch = watchRequests();
});
afterAll(async () => {
  unwatch();
  await chains.stop();
});

const useStore = (create: () => Promise<TestStore>): void => {
  beforeEach(async () => {
    data = await create();
    ({ store } = data);
  });
  afterEach(async () => {
    chains.base.controls.clearFaults();
    chains.solana.controls.clearFaults();
    chains.solana.controls.dropSends = false;
    chains.solana.controls.holdSends = false;
    await chains.base.controls.setAutomine(true);
    await data.remove();
  });
};

/** What a store has a part in; all else is alike on every engine, and the store knows no chain. */
const storeStep = /Refund|AccountLease/;

describe.each(engines)('refunds on $kind', ({ kind, create }) => {
  useStore(create);

  describe.each(['base', 'solana'] as const)('on %s', (chain) => {
    let site: RefundSite;
    beforeEach(async () => {
      site = await openRefundSite(chains, chain);
    });

    it('reach the payer, and the store says so', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment, 30_000n);
      expect(await site.run(store, refund)).toMatchObject({
        outcome: 'landed',
        refund: { state: 'sending', sender: site.walletAddress },
      });
      expect(await site.balanceOf(payment.payer)).toBe(30_000n);
      await site.makeFinal();
      expect(await site.run(store, refund)).toMatchObject({
        outcome: 'settled',
        refund: { state: 'settled', reason: null },
      });
      expect(await store.getRefund(refund.id)).toMatchObject({ state: 'settled' });
      expect(await site.balanceOf(payment.payer)).toBe(30_000n);
    });

    it('of one amount to one payer at the same moment are two transfers', async () => {
      const payment = await site.addPayment(store);
      const another = await site.addPayment(store, payment.payer);
      const refunds = [await site.plan(store, payment, 30_000n), await site.plan(store, another, 30_000n)];
      const ends = await Promise.all(refunds.map((refund) => site.run(store, refund)));
      expect(ends.map(({ outcome }) => outcome)).toEqual(['landed', 'landed']);
      expect(new Set(ends.map(({ refund }) => refund.transaction)).size).toBe(2);
      expect(await site.balanceOf(payment.payer)).toBe(60_000n);
    });

    it('reach the payer once, however many processes work on them at once', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      const others = await Promise.all([data.openAnother(), data.openAnother(), data.openAnother()]);
      const ends = await Promise.all(others.map((other) => site.run(other, refund)));
      expect(ends.map(({ outcome }) => outcome)).toEqual(['landed', 'landed', 'landed']);
      expect(new Set(ends.map(({ refund: { transaction } }) => transaction)).size).toBe(1);
      expect(await site.balanceOf(payment.payer)).toBe(paid);
    });

    it('reach the payer once, at whatever step a process ends and another goes on', async () => {
      const whole = await walk(async () => {
        const payment = await site.addPayment(store);
        const refund = await site.plan(store, payment);
        return walk(() => site.run(watchStore(store), refund), null);
      }, null);
      const steps = whole.ended?.value.steps ?? [];
      expect(steps.filter((step) => step.startsWith('before advanceRefund'))).toEqual([
        'before advanceRefund to sending',
      ]);
      expect(steps.length).toBeGreaterThan(15);
      const isFirstEngine = kind === engines[0]?.kind;
      const storeSteps = chain === 'base' ? steps.filter((step) => storeStep.test(step)) : [];
      const tried = isFirstEngine ? steps : storeSteps;
      const begun: { step: string; payer: string; refund: PaymentRefund }[] = [];
      for (const step of tried) {
        const payment = await site.addPayment(store);
        const refund = await site.plan(store, payment);
        await site.endTurn(store);
        const { ended } = await walk(() => site.run(watchStore(store), refund), step);
        expect([step, ended]).toEqual([step, null]);
        const end = await site.run(store, refund, { aheadMs: laterMs });
        expect([step, end.outcome]).toEqual([step, 'landed']);
        begun.push({ step, payer: payment.payer, refund });
      }
      await site.makeFinal();
      const outcomes: Record<string, unknown> = {};
      for (const { step, payer, refund } of begun) {
        const end = await site.run(store, refund, { aheadMs: laterMs });
        outcomes[step] = [end.outcome, end.refund.state, await site.balanceOf(payer)];
      }
      expect(outcomes).toEqual(Object.fromEntries(tried.map((step) => [step, ['settled', 'settled', paid]])));
    }, 180_000);

    it('are called settled once, at whatever step a process ends that looks at what is final', async () => {
      const begin = async () => {
        const payment = await site.addPayment(store);
        const refund = await site.plan(store, payment);
        expect(await site.run(store, refund)).toMatchObject({ outcome: 'landed' });
        await site.makeFinal();
        return { payment, refund };
      };
      const first = await begin();
      const { steps } = await walk(() => site.run(watchStore(store), first.refund), null);
      expect(steps).toContain('before advanceRefund to settled');
      for (const step of steps.filter((name) => storeStep.test(name))) {
        const { payment, refund } = await begin();
        await walk(() => site.run(watchStore(store), refund), step);
        expect(await site.run(store, refund)).toMatchObject({ outcome: 'settled' });
        expect(await site.balanceOf(payment.payer)).toBe(paid);
      }
    });

    it('are not sent when their payment was found not to have happened', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      await store.advancePayment({
        identity: payment.identity,
        from: ['delivered'],
        to: 'unknown',
        set: { reason: 'gone_from_chain', settledAt: null },
        now: Date.now(),
      });
      expect(await site.run(store, refund)).toMatchObject({
        outcome: 'postponed',
        reason: 'not_owed',
        refund: { state: 'planned', rawTransaction: null },
      });
      expect(await site.balanceOf(payment.payer)).toBe(0n);
    });

    const sending = { base: 'eth_sendRawTransaction', solana: 'sendTransaction' }[chain];

    it.each(['lose-answer', 'error', 'unavailable', 'disconnect'] as const)(
      'reach the payer once when a sending meets "%s"',
      async (fault) => {
        const payment = await site.addPayment(store);
        const refund = await site.plan(store, payment);
        const struck = chains[chain].controls.inject({ fault, methods: [sending], times: 1 });
        const end = await site.run(store, refund);
        expect([end.outcome, struck.hits]).toEqual(['landed', 1]);
        expect(await site.balanceOf(payment.payer)).toBe(paid);
      },
    );

    it('are not known while the chain does not answer, and are found later', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      const looking = { base: 'eth_getTransactionReceipt', solana: 'getSignatureStatuses' }[chain];
      const blind = chains[chain].controls.inject({ fault: 'unavailable', methods: [looking] });
      expect(await site.run(store, refund, briefly)).toMatchObject({
        outcome: 'open',
        reason: 'rpc_unavailable',
        refund: { state: 'sending' },
      });
      blind.remove();
      expect(await site.run(store, refund)).toMatchObject({ outcome: 'landed' });
      expect(await site.balanceOf(payment.payer)).toBe(paid);
    });

    it('are not signed while the chain does not answer', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      const preparing = { base: 'eth_getTransactionCount', solana: 'getLatestBlockhash' }[chain];
      chains[chain].controls.inject({ fault: 'unavailable', methods: [preparing], times: 1 });
      expect(await site.run(store, refund)).toMatchObject({
        outcome: 'postponed',
        reason: 'rpc_unavailable',
        refund: { state: 'planned', transaction: null },
      });
      expect(await site.run(store, refund)).toMatchObject({ outcome: 'landed' });
    });

    it('wait for the account while another process sends from it', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      const sender = `${payment.network}:${site.walletAddress.toLowerCase()}`;
      const now = Date.now();
      expect(await store.takeAccountLease({ sender, owner: 'gateway', until: now + 60_000, now })).toBe(true);
      expect(await site.run(store, refund, { timings: { leaseWaitMs: 50 } })).toMatchObject({
        outcome: 'postponed',
        reason: 'account_busy',
        refund: { state: 'planned' },
      });
      const waiting = site.run(store, refund);
      await store.endAccountLease({ sender, owner: 'gateway' });
      expect(await waiting).toMatchObject({ outcome: 'landed' });
      // Its own turn was given up.
      expect(await store.takeAccountLease({ sender, owner: 'gateway', until: now + 60_000, now })).toBe(true);
    });

    it('reach the payer once when a process wakes up after its turn was given to another', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      const { controls } = chains[chain];
      const preparing = { base: 'eth_getTransactionCount', solana: 'getLatestBlockhash' }[chain];
      const looking = { base: 'eth_getTransactionReceipt', solana: 'getSignatureStatuses' }[chain];
      const asleep = controls.inject({ fault: 'hold', methods: [preparing], times: 1 });
      const sleeper = site.run(store, refund, { timings: { leaseMs: 600_000 } });
      await asleep.waitForHit();
      const blind = controls.inject({ fault: 'unavailable', methods: [looking] });
      const other = await site.run(store, refund, { aheadMs: 700_000, ...briefly });
      expect(other).toMatchObject({ outcome: 'open', refund: { state: 'sending' } });
      blind.remove();
      asleep.remove();
      expect(await sleeper).toMatchObject({
        outcome: 'landed',
        refund: { transaction: other.refund.transaction },
      });
      expect(await site.balanceOf(payment.payer)).toBe(paid);
    });

    it('throw away what was signed when their turn is over', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      expect(await site.run(store, refund, { timings: { leaseMs: 0 } })).toMatchObject({
        outcome: 'postponed',
        reason: 'signing_too_slow',
        refund: { state: 'planned', rawTransaction: null },
      });
      expect(await site.balanceOf(payment.payer)).toBe(0n);
    });
  });
});
