import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import type { Challenge, X402Gate } from '../../../src/payments/sale/gate.ts';
import type { RpcFault } from '../../chains/rpc-faults.ts';
import {
  codeOf,
  createSale,
  hasty,
  overRest,
  payAtLast,
  price,
  priceUnits,
  refusalOf,
  served,
  startGateFixture,
  unpaid,
  untilPending,
  type GateFixture,
} from '../support/gate-fixture.ts';
import { testEngines } from '../../store/open-test-store.ts';

let fixture: GateFixture;
/** Gives up soon. */
let gate: X402Gate;
let patient: X402Gate;
let challenge: Challenge;
beforeAll(async () => {
  fixture = await startGateFixture();
  gate = fixture.openGate({ timeouts: hasty });
  patient = fixture.openGate();
  challenge = gate.challenge({ price, ...overRest });
});
afterEach(() => {
  fixture.chains.base.controls.clearFaults();
  fixture.chains.solana.controls.clearFaults();
});
afterAll(() => fixture?.close());

const chains = [
  { chain: 'base', sendMethod: 'eth_sendRawTransaction', statusMethod: 'eth_getTransactionReceipt' },
  { chain: 'solana', sendMethod: 'sendTransaction', statusMethod: 'getSignatureStatuses' },
] as const;
const faults: RpcFault[] = ['error', 'unavailable', 'disconnect', 'hang'];

describe.each(chains)('when the RPC of $chain is down', ({ chain }) => {
  it.each(faults)('a proof is neither judged nor lost (%s)', async (fault) => {
    const sale = createSale(`down ${chain} ${fault}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const outage = fixture.chains[chain].controls.inject({ fault });
    const impatient = fixture.openGate({ timeouts: { rpcMs: 400 } });
    const refusal = await refusalOf(impatient.sellAnswer(sale.request(proofs)));
    expect(refusal).toMatchObject({ code: 'payment_unavailable', status: 503, retryAfterSeconds: 5 });
    expect(outage.hits).toBeGreaterThan(0);
    expect(sale.produced).toBe(0);
    outage.remove();
    served(await patient.sellAnswer(sale.request(proofs)));
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('after the result was made, nothing is charged and the result waits', async () => {
    const sale = createSale(`down later ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const request = sale.request(proofs);
    const produce: typeof request.produce = (signal, payment) => {
      fixture.chains[chain].controls.inject({ fault: 'unavailable' });
      return request.produce(signal, payment);
    };
    expect(await codeOf(patient.sellAnswer({ ...request, produce }))).toBe('payment_unavailable');
    expect(await fixture.balances(chain)).toEqual(before);
    fixture.chains[chain].controls.clearFaults();
    expect(served(await patient.sellAnswer(request)).replayed).toBe(true);
    expect(sale.produced).toBe(1);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });
});

describe.each(chains)('when $chain takes the transaction and its answer is lost', (names) => {
  const { chain, sendMethod, statusMethod } = names;

  it.each(['lose-answer', 'hang-answer'] as const)('the payment still settles (%s)', async (fault) => {
    const sale = createSale(`lost ${chain} ${fault}`);
    const before = await fixture.balances(chain);
    fixture.chains[chain].controls.inject({ fault, methods: [sendMethod], times: 1 });
    const answer = served(
      await patient.sellAnswer(sale.request(await fixture.buyer.prove(challenge, chain))),
    );
    expect(answer.replayed).toBe(false);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('and the chain then is silent: pending, with the transaction, until it is known', async () => {
    const sale = createSale(`silent ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const { controls } = fixture.chains[chain];
    controls.inject({ fault: 'lose-answer', methods: [sendMethod] });
    controls.inject({ fault: 'unavailable', methods: [statusMethod] });
    const refusal = await untilPending(() => gate.sellAnswer(sale.request(proofs)));
    expect(refusal).toMatchObject({ status: 503, retryAfterSeconds: 5 });
    const transaction = refusal.headers['x-payment-transaction'] ?? 'none';
    expect(refusal.message).toContain(transaction);
    expect(decodeBase64Json(refusal.headers['payment-response'] ?? '')).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      transaction,
    });
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');

    controls.clearFaults();
    const answers = await Promise.allSettled([
      patient.sellAnswer(sale.request(proofs)),
      patient.sellAnswer(sale.request(proofs)),
    ]);
    const settled = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    expect(settled.length).toBeGreaterThan(0);
    for (const answer of settled) expect(served(answer)).toMatchObject({ transaction, replayed: true });
    expect(sale.produced).toBe(1);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });
});

describe('when a transaction on base', () => {
  it('waits in the pool, the proof settles with that transaction and no other', async () => {
    const sale = createSale('pool');
    const before = await fixture.balances('base');
    const { controls } = fixture.chains.base;
    const proofs = await fixture.buyer.prove(challenge, 'base');
    await controls.setAutomine(false);
    const pending = await untilPending(() => gate.sellAnswer(sale.request(proofs)));
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    await controls.mine();
    await controls.setAutomine(true);
    const answer = served(await patient.sellAnswer(sale.request(proofs)));
    expect(answer.transaction).toBe(pending.headers['x-payment-transaction']);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('is forgotten by the pool, it is sent again', async () => {
    const sale = createSale('forgotten');
    const before = await fixture.balances('base');
    const { controls } = fixture.chains.base;
    const proofs = await fixture.buyer.prove(challenge, 'base');
    await controls.setAutomine(false);
    const pending = await untilPending(() => gate.sellAnswer(sale.request(proofs)));
    const transaction = pending.headers['x-payment-transaction'] ?? '';
    await controls.dropPending(`0x${transaction.slice(2)}`);
    await controls.setAutomine(true);
    expect(served(await patient.sellAnswer(sale.request(proofs))).transaction).toBe(transaction);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('is forgotten and its place taken by another payment, it is signed anew', async () => {
    const sale = createSale('place taken');
    const before = await fixture.balances('base');
    const { controls } = fixture.chains.base;
    const proofs = await fixture.buyer.prove(challenge, 'base');
    await controls.setAutomine(false);
    const pending = await untilPending(() => gate.sellAnswer(sale.request(proofs)));
    const transaction = pending.headers['x-payment-transaction'] ?? '';
    await controls.dropPending(`0x${transaction.slice(2)}`);
    await controls.setAutomine(true);
    const other = createSale('the other').request(await fixture.buyer.prove(challenge, 'base'));
    served(await patient.sellAnswer(other));
    const answer = served(await patient.sellAnswer(sale.request(proofs)));
    expect(answer.transaction).not.toBe(transaction);
    expect((await fixture.balances('base')).seller).toBe(before.seller + 2n * priceUnits);
  });

  it('is not taken by the node at first, it is sent when it can be', async () => {
    const sale = createSale('refused by the node');
    const before = await fixture.balances('base');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    fixture.chains.base.controls.inject({ fault: 'error', methods: ['eth_sendRawTransaction'] });
    await untilPending(() => gate.sellAnswer(sale.request(proofs)));
    fixture.chains.base.controls.clearFaults();
    served(await patient.sellAnswer(sale.request(proofs)));
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });
});

describe('when a transaction on solana', () => {
  afterEach(() => {
    fixture.chains.solana.controls.dropSends = false;
    fixture.chains.solana.controls.holdSends = false;
  });

  it('is dropped by the leaders, the same one is sent again', async () => {
    const sale = createSale('dropped');
    const before = await fixture.balances('solana');
    const { controls } = fixture.chains.solana;
    const proofs = await fixture.buyer.prove(challenge, 'solana');
    controls.dropSends = true;
    const pending = await untilPending(() => gate.sellAnswer(sale.request(proofs)));
    controls.dropSends = false;
    const answer = served(await patient.sellAnswer(sale.request(proofs)));
    expect(answer.transaction).toBe(pending.headers['x-payment-transaction']);
    expect((await fixture.balances('solana')).seller).toBe(before.seller + priceUnits);
  });

  it('may still land though the buyer has spent the money, it is not called failed', async () => {
    const poor = await fixture.createBuyer(priceUnits);
    const sale = createSale('spent meanwhile');
    const before = await fixture.balances('solana');
    const { controls } = fixture.chains.solana;
    const proofs = await poor.prove(challenge, 'solana');
    controls.dropSends = true;
    await untilPending(() => gate.sellAnswer(sale.request(proofs)));
    controls.dropSends = false;
    const [engine] = testEngines();
    const otherShop = await engine!.create();
    const elsewhere = fixture.openGate({ store: otherShop.store });
    served(await elsewhere.sellAnswer(createSale('spender').request(await poor.prove(challenge, 'solana'))));
    await elsewhere.close();
    await otherShop.remove();
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    await fixture.chains.solana.mint(poor.addresses.solana, priceUnits);
    served(await patient.sellAnswer(sale.request(proofs)));
    expect((await fixture.balances('solana')).seller).toBe(before.seller + 2n * priceUnits);
  });

  it('never lands, it is proven once its blockhash is long dead', async () => {
    let aheadMs = 0;
    const later = fixture.openGate({
      clock: { now: () => Date.now() + aheadMs },
      timeouts: hasty,
    });
    const sale = createSale('never lands');
    const before = await fixture.balances('solana');
    const { controls } = fixture.chains.solana;
    const proofs = await fixture.buyer.prove(challenge, 'solana');
    controls.dropSends = true;
    await untilPending(() => later.sellAnswer(sale.request(proofs)));
    controls.expireBlockhash();
    expect(await codeOf(later.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    aheadMs = 181_000;
    const refused = unpaid(await payAtLast(later, sale.request(proofs)));
    expect(refused.challenge.body.error).toBe('invalid_exact_svm_blockhash_expired');
    expect(await fixture.balances('solana')).toEqual(before);
  });
});

describe('warming up', () => {
  it('says which networks can settle, and offers no other', async () => {
    const [base, solana] = fixture.localNetworks;
    const homeless = { ...solana!, payTo: fixture.chains.solana.facilitator.address };
    const warm = fixture.openGate({ networks: [base!, homeless] });
    await warm.warmUp();
    expect(warm.status()).toMatchObject([
      { network: 'eip155:84532', ready: true, detail: null },
      { network: fixture.chains.solana.network, ready: false },
    ]);
    expect(warm.status()[1]?.detail).toContain('no USDC account');
    const { accepts } = warm.challenge({ price, ...overRest }).paymentRequired;
    expect(accepts.map(({ network }) => network)).toEqual(['eip155:84532']);
  });

  it('goes on when a chain does not answer', async () => {
    const warm = fixture.openGate();
    fixture.chains.base.controls.inject({ fault: 'unavailable' });
    await warm.warmUp();
    expect(warm.status().map(({ ready }) => ready)).toEqual([false, true]);
    expect(warm.challenge({ price, ...overRest }).paymentRequired.accepts).toHaveLength(2);
  });
});
