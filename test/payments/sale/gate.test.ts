import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { z } from 'zod';
import { AppError } from '../../../src/kit/errors.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import { decodeBase64Json, encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import type {
  Challenge,
  AnswerOrder,
  Proofs,
  X402Gate,
  X402GateOptions,
} from '../../../src/payments/sale/gate.ts';
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

const decodedProof = z.looseObject({
  accepted: z.record(z.string(), z.unknown()),
  payload: z.looseObject({
    signature: z.string().default(''),
    authorization: z.record(z.string(), z.string()).default({}),
  }),
});

/** The v2 proof with something changed after it was signed. */
const tamper = (
  { paymentSignature }: Proofs,
  change: (proof: z.infer<typeof decodedProof>) => void,
): Proofs => {
  const proof = decodedProof.parse(decodeBase64Json(paymentSignature ?? ''));
  change(proof);
  return { paymentSignature: encodeBase64Json(proof) };
};

/** Terms of our own making, as a dishonest or outdated page would show them. */
const changedTerms = (change: Record<string, unknown>): Challenge => {
  const required = structuredClone(challenge.paymentRequired);
  const accepts = required.accepts.map((terms) => ({ ...terms, ...change }));
  return { ...challenge, header: encodeBase64Json({ ...required, accepts }) };
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

describe('a proof that does not pay these terms', () => {
  const refusalReason = async (proofs: Proofs): Promise<string> => {
    const sale = createSale('never sold');
    const refused = unpaid(await gate.sellAnswer(sale.request(proofs)));
    expect(sale.produced).toBe(0);
    expect(decodeBase64Json(refused.challenge.header)).toEqual(refused.challenge.paymentRequired);
    return refused.challenge.body.error;
  };

  it('is refused for another recipient', async () => {
    const elsewhere = changedTerms({ payTo: fixture.chains.base.buyer.address });
    expect(await refusalReason(await fixture.buyer.prove(elsewhere, 'base'))).toBe(
      'payment_recipient_mismatch',
    );
    const wallet = changedTerms({ payTo: fixture.chains.solana.buyer.address });
    expect(await refusalReason(await fixture.buyer.prove(wallet, 'solana'))).toBe(
      'payment_recipient_mismatch',
    );
  });

  it('is refused for another recipient or amount than it claims', async () => {
    const elsewhere = await fixture.buyer.prove(
      changedTerms({ payTo: fixture.chains.solana.facilitator.address }),
      'solana',
    );
    const { payTo } = challenge.paymentRequired.accepts[1]!;
    expect(await refusalReason(tamper(elsewhere, ({ accepted }) => void (accepted['payTo'] = payTo)))).toBe(
      'invalid_exact_svm_payload_recipient_mismatch',
    );
    const cheap = await fixture.buyer.prove(changedTerms({ amount: '1' }), 'base');
    const claimed = tamper(cheap, ({ accepted }) => void (accepted['amount'] = '100000'));
    expect(await refusalReason(claimed)).toBe('payment_amount_mismatch');
  });

  it('is refused for another amount, with the terms that hold', async () => {
    const cheaper = gate.challenge({ price: parseUsd('0.05'), ...overRest });
    for (const chain of chains)
      expect(await refusalReason(await fixture.buyer.prove(cheaper, chain))).toBe('payment_amount_mismatch');
    const v1 = await fixture.buyer.prove(cheaper, 'base', 1);
    expect(await refusalReason(v1)).toBe('payment_amount_mismatch');
  });

  it('is refused for another asset', async () => {
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const other = tamper(proofs, ({ accepted }) => void (accepted['asset'] = `0x${'11'.repeat(20)}`));
    expect(await refusalReason(other)).toBe('payment_asset_mismatch');
  });

  it('is refused for a network that is not offered', async () => {
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const mainNet = tamper(proofs, ({ accepted }) => void (accepted['network'] = 'eip155:8453'));
    expect(await refusalReason(mainNet)).toBe('payment_network_mismatch');
  });

  it('is refused when it has run out', async () => {
    const short = changedTerms({ maxTimeoutSeconds: 1 });
    expect(await refusalReason(await fixture.buyer.prove(short, 'base'))).toBe(
      'invalid_exact_evm_payload_authorization_valid_before',
    );
    const proofs = await fixture.buyer.prove(challenge, 'solana');
    fixture.chains.solana.controls.expireBlockhash();
    expect(await refusalReason(proofs)).toBe('invalid_exact_svm_blockhash_expired');
  });

  it('is refused with a signature that is not the payer’s, and the true one still works', async () => {
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const forged = tamper(proofs, ({ payload }) => {
      const { signature } = payload;
      payload.signature = signature.slice(0, 60) + (signature[60] === '0' ? '1' : '0') + signature.slice(61);
    });
    expect(await refusalReason(forged)).toBe('invalid_exact_evm_signature');
    served(await gate.sellAnswer(createSale('true signature').request(proofs)));
  });

  it('is not handed the answer that the same payer and nonce bought', async () => {
    const sale = createSale('stolen nonce');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    served(await gate.sellAnswer(sale.request(proofs)));
    const guessed = tamper(proofs, ({ payload }) => {
      payload.signature = `0x${'11'.repeat(65)}`;
    });
    expect(await codeOf(gate.sellAnswer(sale.request(guessed)))).toBe('payment_conflict');
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

describe('garbage in place of a proof', () => {
  it.each([
    ['no base64', { xPayment: '!!!' }],
    ['base64 of no JSON', { xPayment: Buffer.from('{').toString('base64') }],
    ['JSON of no proof', { xPayment: encodeBase64Json([]) }],
    ['an unknown version', { xPayment: encodeBase64Json({ x402Version: 3 }) }],
    ['a number over MCP', { meta: 17 }],
    ['a header of a megabyte', { xPayment: 'A'.repeat(1024 ** 2) }],
  ])('is a clear 400: %s', async (_, proofs) => {
    const refusal = await refusalOf(gate.sellAnswer(createSale('garbage').request(proofs)));
    expect(refusal).toMatchObject({ code: 'invalid_payment', status: 400 });
    expect(refusal.message.length).toBeLessThan(200);
  });

  it('never reaches a chain', async () => {
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const callsBefore = fixture.chains.base.controls.callCount('eth_call');
    const exponent = tamper(proofs, ({ payload }) => void (payload.authorization['value'] = '1e5'));
    const solanaPayload = tamper(proofs, (proof) =>
      Object.assign(proof, { payload: { transaction: 'AAAA' } }),
    );
    const { paymentSignature } = await fixture.buyer.prove(challenge, 'solana');
    const noTransaction = tamper({ paymentSignature }, (proof) =>
      Object.assign(proof, { payload: { transaction: 'AAAA' } }),
    );
    for (const proof of [exponent, solanaPayload, noTransaction])
      expect(await codeOf(gate.sellAnswer(createSale('garbage').request(proof)))).toBe('invalid_payment');
    expect(fixture.chains.base.controls.callCount('eth_call')).toBe(callsBefore);
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
