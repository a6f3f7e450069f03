import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Challenge, AnswerOrder, X402Gate } from '../../../src/payments/sale/gate.ts';
import {
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
import { createSpender } from '../support/spender.ts';

let fixture: GateFixture;
let gate: X402Gate;
let challenge: Challenge;
beforeAll(async () => {
  fixture = await startGateFixture();
  gate = fixture.openGate();
  challenge = gate.challenge({ price, ...overRest });
});
afterEach(() => fixture.chains.base.controls.setAutomine(true));
afterAll(() => fixture?.close());

describe('a settlement on Base', () => {
  it('that the chain reverts, as the buyer spent the money first, is not served, and charged once if the money comes back', async () => {
    const { controls } = fixture.chains.base;
    const spender = await createSpender(fixture.chains, priceUnits);
    const proofs = await spender.buyer.prove(challenge, 'base');
    const sale = createSale('reverted');
    const before = await fixture.balances('base');
    const sends = controls.callCount('eth_sendRawTransaction');
    await controls.setAutomine(false);
    const paying = gate.sellAnswer(sale.request(proofs));
    await vi.waitFor(() => expect(controls.callCount('eth_sendRawTransaction')).toBe(sends + 1), 60_000);
    await spender.spendAll();
    await controls.mine();
    const refused = await refusalOf(paying);
    expect(refused.code).toBe('payment_pending');
    const reverted = refused.headers['x-payment-transaction'];
    expect(reverted).toMatch(/^0x/);

    await controls.setAutomine(true);
    expect((await refusalOf(gate.sellAnswer(sale.request(proofs)))).code).toBe('payment_pending');
    expect((await fixture.balances('base')).seller).toBe(before.seller);
    await fixture.chains.base.mint(spender.address, priceUnits);
    const answer = served(await gate.sellAnswer(sale.request(proofs)));
    expect(answer).toMatchObject({ replayed: true, transaction: expect.not.stringMatching(`${reverted}`) });
    expect(sale.produced).toBe(1);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
    expect(await fixture.chains.base.balanceOf(spender.address)).toBe(0n);
  });

  it('that the pool lost does not hold up for ever those that were sent after it', async () => {
    const { controls } = fixture.chains.base;
    const before = await fixture.balances('base');
    const [lost, next] = [createSale('lost from the pool'), createSale('behind the lost one')];
    const [lostProofs, nextProofs] = [
      await fixture.buyer.prove(challenge, 'base'),
      await fixture.buyer.prove(challenge, 'base'),
    ];
    const impatient = fixture.openGate({ timeouts: hasty });
    const leaveInPool = async (request: AnswerOrder): Promise<string> =>
      (await untilPending(() => impatient.sellAnswer(request))).headers['x-payment-transaction'] ?? '';
    await controls.setAutomine(false);
    const lostPaying = leaveInPool(lost.request(lostProofs));
    const nextPaying = leaveInPool(next.request(nextProofs));
    await controls.dropPending(`0x${(await lostPaying).slice(2)}`);
    expect(await nextPaying).toMatch(/^0x/);
    await controls.setAutomine(true);

    // Only the buyer of the other one comes back.
    served(await payAtLast(impatient, next.request(nextProofs)));
    expect(next.produced).toBe(1);
    served(await gate.sellAnswer(lost.request(lostProofs)));
    expect((await fixture.balances('base')).seller).toBe(before.seller + 2n * priceUnits);
  });
});

describe('a proof that runs out while its result is made', () => {
  const runOut = {
    solana: {
      expire: () => Promise.resolve(fixture.chains.solana.controls.expireBlockhash()),
      reason: 'invalid_exact_svm_blockhash_expired',
    },
    // Last: what is signed from now on is of another time.
    base: {
      expire: () => fixture.chains.base.controls.advanceSeconds(400),
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    },
  };

  it.each(['solana', 'base'] as const)('is not served and not charged (%s)', async (chain) => {
    const { expire, reason } = runOut[chain];
    const sale = createSale(`runs out on ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const request = sale.request(proofs);
    const produce: typeof request.produce = async (signal, payment) => {
      await expire();
      return request.produce(signal, payment);
    };
    const refused = unpaid(await gate.sellAnswer({ ...request, produce }));
    expect(refused.challenge.body.error).toBe(reason);
    unpaid(await gate.sellAnswer(request));
    expect(await fixture.balances(chain)).toEqual(before);
  });
});
