import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import type { PayOutcome, Proofs, X402Gate } from '../../../src/payments/sale/gate.ts';
import {
  createSale,
  overRest,
  price,
  priceUnits,
  refusalOf,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
} from '../support/gate-fixture.ts';
import type { Buyer } from '../support/buyer.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

const sendMethods = { base: 'eth_sendRawTransaction', solana: 'sendTransaction' } as const;

let fixture: GateFixture;
beforeAll(async () => {
  fixture = await startGateFixture();
});
afterAll(() => fixture?.close());

/** The outcome, or the code of the refusal. */
const endOf = async (payment: Promise<PayOutcome>): Promise<string> => {
  try {
    const outcome = await payment;
    return outcome.outcome === 'served' ? 'served' : outcome.challenge.body.error;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
};

describe.each(testEngines())('open payments from one account, on $kind', ({ create }) => {
  describe.each(['base', 'solana'] as const)('on %s', (chain) => {
    let data: TestStore;
    /** Two processes on one store. */
    let gates: [X402Gate, X402Gate];
    beforeEach(async () => {
      data = await create();
      gates = [
        fixture.openGate({ store: data.store }),
        fixture.openGate({ store: await data.openAnother() }),
      ];
      await Promise.all(gates.map((gate) => gate.warmUp()));
    });
    afterEach(async () => {
      fixture.chains[chain].controls.clearFaults();
      await Promise.all(gates.map((gate) => gate.close()));
      await data.remove();
    });

    const countSent = (): number => fixture.chains[chain].controls.callCount(sendMethods[chain]);
    const proveAll = async (buyer: Buyer, count: number): Promise<Proofs[]> => {
      const challenge = gates[0].challenge({ price, ...overRest });
      const proofs: Proofs[] = [];
      for (let index = 0; index < count; index += 1) proofs.push(await buyer.prove(challenge, chain));
      return proofs;
    };
    const payAtOnce = (proofs: Proofs[]): Promise<string[]> =>
      Promise.all(
        proofs.map((proof, index) =>
          endOf(gates[index % 2 === 0 ? 0 : 1].sellAnswer(createSale(`search ${index}`).request(proof))),
        ),
      );
    /** A payment that is verified and whose result is being made, until `finish`. */
    const beginOne = async (proof: Proofs) => {
      const producing = Promise.withResolvers<void>();
      const result = Promise.withResolvers<string>();
      const outcome = gates[0].sellAnswer(
        createSale('slow').request(proof, {
          produce: () => {
            producing.resolve();
            return result.promise;
          },
        }),
      );
      await producing.promise;
      return {
        finish: () => {
          result.resolve('{}');
          return outcome;
        },
      };
    };

    it('send one transaction when twenty come at once and the wallet can pay for one', async () => {
      const buyer = await fixture.createBuyer(priceUnits);
      const proofs = await proveAll(buyer, 20);
      const before = countSent();
      const ends = await payAtOnce(proofs);
      expect(ends.filter((end) => end === 'served')).toHaveLength(1);
      expect(countSent()).toBe(before + 1);
      // Who was told to come again is told the end of it then.
      const again = await payAtOnce(proofs);
      expect(again.filter((end) => end === 'served')).toHaveLength(1);
      expect(again.filter((end) => end === 'payment_unavailable')).toEqual([]);
      expect(countSent()).toBe(before + 1);
    });

    it('are all served when the wallet can pay for all of them', async () => {
      const buyer = await fixture.createBuyer(4n * priceUnits);
      const proofs = await proveAll(buyer, 4);
      const before = countSent();
      for (let rounds = 0; rounds < 10; rounds += 1) {
        const ends = await payAtOnce(proofs);
        expect(ends.filter((end) => end !== 'served' && end !== 'payment_unavailable')).toEqual([]);
        if (!ends.includes('payment_unavailable')) break;
      }
      expect(await payAtOnce(proofs)).toEqual(['served', 'served', 'served', 'served']);
      expect(countSent()).toBe(before + 4);
    });

    it('ask for the earlier proof where its buyer left before it was settled', async () => {
      const buyer = await fixture.createBuyer(priceUnits);
      const [first, second] = await proveAll(buyer, 2);
      if (first === undefined || second === undefined) throw new Error('two proofs were made');
      const leaving = new AbortController();
      const sale = createSale('left');
      const left = gates[0].sellAnswer(
        sale.request(first, {
          signal: leaving.signal,
          produce: () => {
            leaving.abort();
            return Promise.resolve('{}');
          },
        }),
      );
      await expect(left).rejects.toMatchObject({ name: 'AbortError' });
      const again = createSale('signed anew').request(second);
      const refusal = await refusalOf(gates[1].sellAnswer(again));
      expect(refusal).toMatchObject({ code: 'payment_unavailable', status: 503, retryAfterSeconds: 5 });
      expect(refusal.message).toContain('send it again with that proof');
      served(await gates[1].sellAnswer(sale.request(first)));
      unpaid(await gates[1].sellAnswer(again));
      await fixture.chains.base.mint(buyer.addresses.base, priceUnits);
      await fixture.chains.solana.mint(buyer.addresses.solana, priceUnits);
      served(await gates[1].sellAnswer(again));
    });

    it('refuse one more than the wallet holds before anything is made for it, and take it when it holds more', async () => {
      const buyer = await fixture.createBuyer(priceUnits + 1n);
      const [first, second] = await proveAll(buyer, 2);
      if (first === undefined || second === undefined) throw new Error('two proofs were made');
      const { finish } = await beginOne(first);
      const sale = createSale('one more');
      expect(unpaid(await gates[1].sellAnswer(sale.request(second))).challenge.body.error).toBe(
        'insufficient_funds',
      );
      expect(sale.produced).toBe(0);
      await fixture.chains.base.mint(buyer.addresses.base, priceUnits);
      await fixture.chains.solana.mint(buyer.addresses.solana, priceUnits);
      served(await gates[1].sellAnswer(sale.request(second)));
      served(await finish());
    });
  });
});

describe('a second open payment while the node does not tell the balance', () => {
  it('is neither refused nor charged, and is served later', async () => {
    const { controls } = fixture.chains.solana;
    const buyer = await fixture.createBuyer(2n * priceUnits);
    const gate = fixture.openGate();
    await gate.warmUp();
    const challenge = gate.challenge({ price, ...overRest });
    const first = await buyer.prove(challenge, 'solana');
    const second = createSale('second').request(await buyer.prove(challenge, 'solana'));
    const fault = controls.inject({ fault: 'unavailable', methods: ['getTokenAccountBalance'] });
    const sale = createSale('first');
    const outcome = await gate.sellAnswer(
      sale.request(first, {
        produce: async () => {
          const refusal = await refusalOf(gate.sellAnswer(second));
          expect(refusal).toMatchObject({ code: 'payment_unavailable', status: 503, retryAfterSeconds: 5 });
          return '{}';
        },
      }),
    );
    served(outcome);
    fault.remove();
    served(await gate.sellAnswer(second));
  });
});
