import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/kit/clock.ts';
import { checkRefunds, type RefundCheck } from '../../../src/payments/refunds/check-refunds.ts';
import type { Store } from '../../../src/store/store.ts';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
import { briefly, openRefundSite, paid, type RefundSite } from './refund-site.ts';

const [engine] = testEngines();

describe.each(['base', 'solana'] as const)('the upkeep of refunds on %s', (chain) => {
  let chains: Chains;
  let site: RefundSite;
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    chains = await startChains();
    site = await openRefundSite(chains, chain);
  });
  afterAll(() => chains.stop());
  beforeEach(async () => {
    data = await engine!.create();
    ({ store } = data);
  });
  afterEach(async () => {
    chains[chain].controls.clearFaults();
    await data.remove();
  });

  const look = (network: string = chains[chain].network): Promise<RefundCheck[]> =>
    checkRefunds({
      store,
      networks: [{ network, facilitator: { rpcUrl: chains[chain].rpcUrl } }],
      clock: systemClock,
      limit: 10,
      signal: new AbortController().signal,
    });

  it('calls a refund settled when it is final, and not before', async () => {
    const payment = await site.addPayment(store);
    const refund = await site.plan(store, payment);
    await site.run(store, refund);
    expect(await look()).toMatchObject([{ outcome: 'landed', reason: null, refund: { state: 'sending' } }]);
    await site.makeFinal();
    expect(await look()).toMatchObject([
      { outcome: 'settled', reason: null, refund: { id: refund.id, state: 'settled' } },
    ]);
    expect(await look()).toEqual([]);
    expect(await site.balanceOf(payment.payer)).toBe(paid);
  });

  it('signs and sends nothing', async () => {
    const payment = await site.addPayment(store);
    await site.plan(store, payment);
    expect(await look()).toEqual([]);
    const sent = await site.plan(store, await site.addPayment(store));
    const sending = { base: 'eth_sendRawTransaction', solana: 'sendTransaction' }[chain];
    const deaf = chains[chain].controls.inject({ fault: 'unavailable', methods: [sending] });
    await site.run(store, sent, briefly);
    deaf.remove();
    expect(await look()).toMatchObject([{ refund: { id: sent.id }, outcome: 'open', reason: 'not_landed' }]);
    expect(await site.balanceOf(sent.recipient)).toBe(0n);
  });

  it('leaves a refund as it is while no node answers, and on a network that is not configured', async () => {
    const refund = await site.plan(store, await site.addPayment(store));
    await site.run(store, refund);
    const before = await store.getRefund(refund.id);
    const blind = chains[chain].controls.inject({
      fault: 'unavailable',
      methods: ['eth_getTransactionReceipt', 'getSignatureStatuses'],
    });
    expect(await look()).toMatchObject([{ outcome: 'open', reason: 'rpc_unavailable' }]);
    blind.remove();
    expect(await look('eip155:8453')).toEqual([]);
    expect(await store.getRefund(refund.id)).toEqual(before);
  });
});
