import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { AppError } from '../../../src/kit/errors.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import { decodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import type { Challenge, AnswerOrder, X402Gate, X402GateOptions } from '../../../src/payments/sale/gate.ts';
import {
  codeOf,
  createSale,
  hasty,
  overMcp,
  overRest,
  price,
  priceUnits,
  refusalOf,
  served,
  startGateFixture,
  unpaid,
  untilPending,
  type GateFixture,
} from '../support/gate-fixture.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

let fixture: GateFixture;
let gate: X402Gate;
let challenge: Challenge;
let otherShop: TestStore;
beforeAll(async () => {
  fixture = await startGateFixture();
  const [engine] = testEngines();
  otherShop = await engine!.create();
  gate = fixture.openGate();
  challenge = gate.challenge({ price, ...overRest });
});
afterAll(async () => {
  await fixture?.close();
  await otherShop?.remove();
});

const chains = ['base', 'solana'] as const;

/** Knows nothing of the payments here, and settles on Base from an account of its own. */
const openAnotherShop = async (): Promise<Pick<X402GateOptions, 'store' | 'networks'>> => {
  const privateKey = generatePrivateKey();
  await fixture.chains.base.controls.setBalance(privateKeyToAddress(privateKey), 10n ** 18n);
  const networks = fixture.localNetworks.map((offered) =>
    offered.network === fixture.chains.base.network && offered.facilitator.kind === 'local'
      ? { ...offered, facilitator: { ...offered.facilitator, privateKey } }
      : offered,
  );
  return { store: otherShop.store, networks };
};

describe.each([
  { chain: 'base', version: 2 },
  { chain: 'base', version: 1 },
  { chain: 'solana', version: 2 },
  { chain: 'solana', version: 1 },
] as const)('a stock x402 v$version client on $chain', ({ chain, version }) => {
  it('pays once, is served, and is served the stored answer again', async () => {
    const sale = createSale(`${chain} ${version}`);
    const before = await fixture.balances(chain);
    const { challenge: owed } = unpaid(await gate.sellAnswer(sale.request(null)));
    const proofs = await fixture.buyer.prove(owed, chain, version);

    const first = served(await gate.sellAnswer(sale.request(proofs)));
    expect(JSON.parse(first.result)).toEqual({ results: [`${chain} ${version}`], count: 1 });
    expect(first.replayed).toBe(false);
    const { response, headers } = first.receipt ?? {};
    expect(response).toMatchObject({
      success: true,
      transaction: first.transaction,
      network: fixture.chains[chain].network,
    });
    expect(response?.payer?.toLowerCase()).toBe(fixture.buyer.addresses[chain].toLowerCase());
    expect(decodeBase64Json(headers?.['payment-response'] ?? '')).toEqual(response);
    expect(decodeBase64Json(headers?.['x-payment-response'] ?? '')).toEqual({
      ...response,
      network: chain === 'base' ? 'base-sepolia' : 'solana-devnet',
    });

    const second = served(await gate.sellAnswer(sale.request(proofs)));
    expect({ ...second, payment: null }).toEqual({ ...first, replayed: true, payment: null });
    expect(sale.produced).toBe(1);
    expect(await fixture.balances(chain)).toEqual({
      buyer: before.buyer - priceUnits,
      seller: before.seller + priceUnits,
    });
  });
});

describe.each(chains)('one proof on %s', (chain) => {
  it('sent ten times at once is served once and charged once', async () => {
    const sale = createSale(`ten on ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => gate.sellAnswer(sale.request(proofs))),
    );
    const answers = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(answers).toHaveLength(1);
    expect(refusals).toHaveLength(9);
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ code: 'payment_in_progress', retryAfterSeconds: 1 });
    expect(sale.produced).toBe(1);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('pays one request and no other', async () => {
    const proofs = await fixture.buyer.prove(challenge, chain);
    served(await gate.sellAnswer(createSale(`first on ${chain}`).request(proofs)));
    const other = createSale(`other on ${chain}`);
    expect(await codeOf(gate.sellAnswer(other.request(proofs)))).toBe('payment_conflict');
    const dearer = other.request(proofs, { price: parseUsd('0.12') });
    expect(await codeOf(gate.sellAnswer(dearer))).toBe('payment_conflict');
    expect(other.produced).toBe(0);
  });

  it('is shared by REST and MCP, and may come as an object or as base64', async () => {
    const sale = createSale(`both on ${chain}`);
    const { paymentSignature = '' } = await fixture.buyer.prove(challenge, chain);
    const asMeta = { meta: decodeBase64Json(paymentSignature) };
    const first = served(await gate.sellAnswer(sale.request(asMeta, { ...overMcp })));
    const again = served(await gate.sellAnswer(sale.request({ meta: paymentSignature }, { ...overMcp })));
    const overRest = served(await gate.sellAnswer(sale.request({ paymentSignature })));
    expect([again.result, overRest.result]).toEqual([first.result, first.result]);
    expect(sale.produced).toBe(1);
  });

  it('can be used again when the result could not be made, for that nothing is charged', async () => {
    const sale = createSale(`fails first on ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const failing = sale.request(proofs, {
      produce: () => Promise.reject(new AppError('upstream_error', 'The data source failed. Try again.')),
    });
    expect(await codeOf(gate.sellAnswer(failing))).toBe('upstream_error');
    expect(await fixture.balances(chain)).toEqual(before);
    served(await gate.sellAnswer(sale.request(proofs)));
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('is refused for want of USDC', async () => {
    const poor = await fixture.createBuyer(priceUnits - 1n);
    const sale = createSale(`poor on ${chain}`);
    const refused = unpaid(await gate.sellAnswer(sale.request(await poor.prove(challenge, chain))));
    expect(refused.challenge.body.error).toMatch(/insufficient_(?:balance|funds)$/);
    expect(refused.challenge.paymentRequired.error).toBe(refused.challenge.body.error);
    expect(sale.produced).toBe(0);
  });

  it('is not answered when the money went to another shop by the time of settlement', async () => {
    const gates = [gate, fixture.openGate(await openAnotherShop())];
    const poor = await fixture.createBuyer(priceUnits);
    const before = await fixture.balances(chain);
    const bothMade = Promise.withResolvers<void>();
    let made = 0;
    const produce = async (): Promise<string> => {
      made += 1;
      if (made === 2) bothMade.resolve();
      await bothMade.promise;
      return '{"results":[],"count":0}';
    };
    const proofs = [await poor.prove(challenge, chain), await poor.prove(challenge, chain)];
    const requests = proofs.map((proof, index) =>
      createSale(`race ${index} on ${chain}`).request(proof, { produce }),
    );
    const endOf = async (request: AnswerOrder, index: number): Promise<string> => {
      try {
        const ended = await gates[index]!.sellAnswer(request);
        return ended.outcome === 'served' ? 'served' : ended.challenge.body.error;
      } catch (error) {
        if (error instanceof AppError) return error.code;
        throw error;
      }
    };
    const ends = await Promise.all(requests.map(endOf));
    const lost = ends.findIndex((end) => end !== 'served');
    // A transaction that the chain reverted leaves what the buyer signed on EVM as good as before, for a while.
    expect(ends[lost]).toMatch(
      chain === 'base' ? /insufficient|payment_pending/ : /insufficient|transaction_failed/,
    );
    expect(ends.toSpliced(lost, 1)).toEqual(['served']);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
    expect(await endOf(requests[lost]!, lost)).toBe(ends[lost]);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('goes on being settled when the client leaves, and stops before that', async () => {
    const sale = createSale(`leaves on ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const leaving = new AbortController();
    const early = sale.request(proofs, {
      signal: leaving.signal,
      produce: async () => {
        leaving.abort();
        return JSON.stringify({ results: ['early'], count: 1 });
      },
    });
    await expect(gate.sellAnswer(early)).rejects.toThrow('aborted');
    expect(await fixture.balances(chain)).toEqual(before);

    // The stored result is what the proof buys now; leaving during the settlement changes nothing.
    const leavingLate = new AbortController();
    const { controls } = fixture.chains[chain];
    const method = chain === 'base' ? 'eth_sendRawTransaction' : 'sendTransaction';
    const held = controls.inject({ fault: 'hold', methods: [method] });
    const late = gate.sellAnswer(sale.request(proofs, { signal: leavingLate.signal }));
    await held.waitForHit();
    leavingLate.abort();
    held.remove();
    expect(JSON.parse(served(await late).result)).toEqual({ results: ['early'], count: 1 });
    expect(sale.produced).toBe(0);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('is settled for work that costs money when the client leaves while it is done', async () => {
    const sale = createSale(`costly on ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const leaving = new AbortController();
    const left = sale.request(proofs, {
      signal: leaving.signal,
      costsMoney: true,
      produce: async (signal) => {
        leaving.abort();
        signal.throwIfAborted();
        return '{}';
      },
    });
    await gate.sellAnswer(left);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
    const again = sale.request(proofs, { costsMoney: true });
    expect(served(await gate.sellAnswer(again))).toMatchObject({ result: '{}', replayed: true });
  });

  it('is free for a result that is given away, and can be spent later', async () => {
    const sale = createSale(`free on ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const free = served(
      await gate.sellAnswer(sale.request(proofs, { produce: async () => ({ free: '{}' }) })),
    );
    expect(free).toMatchObject({ receipt: undefined, transaction: null });
    expect(await fixture.balances(chain)).toEqual(before);
    served(await gate.sellAnswer(createSale(`spent on ${chain}`).request(proofs)));
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });
});

describe('a proof in both headers', () => {
  it('is charged once, by the v2 header, even when the v1 header is signed apart', async () => {
    const sale = createSale('both headers');
    const before = await fixture.balances('base');
    const { paymentSignature } = await fixture.buyer.prove(challenge, 'base', 2);
    const { xPayment } = await fixture.buyer.prove(challenge, 'base', 1);
    const both = { xPayment, paymentSignature };
    const first = served(await gate.sellAnswer(sale.request(both)));
    const second = served(await gate.sellAnswer(sale.request(both)));
    const alone = served(await gate.sellAnswer(sale.request({ paymentSignature })));
    expect([second.transaction, alone.transaction]).toEqual([first.transaction, first.transaction]);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('is read by the version in it, whichever header it is in', async () => {
    const { paymentSignature } = await fixture.buyer.prove(challenge, 'base', 2);
    const v2 = await gate.sellAnswer(createSale('v2 in X-PAYMENT').request({ xPayment: paymentSignature }));
    const { xPayment } = await fixture.buyer.prove(challenge, 'base', 1);
    const v1 = await gate.sellAnswer(createSale('v1 elsewhere').request({ paymentSignature: xPayment }));
    expect([v2.outcome, v1.outcome]).toEqual(['served', 'served']);
  });
});

describe('a payment that was given back', () => {
  it('is served no more, neither from the store nor anew', async () => {
    const sale = createSale('given back');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    served(await gate.sellAnswer(sale.request(proofs)));
    const [payment] = await fixture.store.listPayments({ limit: 1 });
    const id = randomUUID();
    await fixture.store.planRefund({
      id,
      payment: payment?.identity ?? '',
      amount: null,
      note: null,
      acceptsUnknown: false,
      now: Date.now(),
    });
    const refusal = await refusalOf(gate.sellAnswer(sale.request(proofs)));
    expect([refusal.code, refusal.message]).toEqual([
      'payment_conflict',
      expect.stringContaining('given back'),
    ]);
    await fixture.store.advanceRefund({ id, from: ['planned'], to: 'failed', now: Date.now() });
    expect(served(await gate.sellAnswer(sale.request(proofs))).replayed).toBe(true);
    expect(sale.produced).toBe(1);
  });
});

describe('a settlement that is repeated while the store fails', () => {
  it('is pending, as what left before may have moved the money', async () => {
    const sale = createSale('store fails at the repetition');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const held = fixture.chains.base.controls.inject({
      fault: 'disconnect',
      methods: ['eth_sendRawTransaction'],
    });
    const impatient = fixture.openGate({ timeouts: hasty });
    await untilPending(() => impatient.sellAnswer(sale.request(proofs)));
    held.remove();
    const { store: whole } = fixture;
    const store = {
      ...whole,
      advancePayment: (input: Parameters<typeof whole.advancePayment>[0]) =>
        input.set?.rawTransaction === undefined
          ? whole.advancePayment(input)
          : Promise.reject(new Error('the disk is full')),
    };
    const refusal = await refusalOf(fixture.openGate({ store }).sellAnswer(sale.request(proofs)));
    expect(refusal).toMatchObject({ code: 'payment_pending', status: 503 });
    expect(refusal.headers['x-payment-transaction']).toMatch(/^0x/);
  });
});

describe('many payments at once', () => {
  it('all settle, each with a transaction of its own', async () => {
    const before = await fixture.balances('base');
    const proofs = await Promise.all(
      Array.from({ length: 20 }, () => fixture.buyer.prove(challenge, 'base')),
    );
    const outcomes = await Promise.all(
      proofs.map((proof, index) => gate.sellAnswer(createSale(`many ${index}`).request(proof))),
    );
    const transactions = new Set(outcomes.map((outcome) => served(outcome).transaction));
    expect(transactions.size).toBe(20);
    expect((await fixture.balances('base')).seller).toBe(before.seller + 20n * priceUnits);
  });
});
