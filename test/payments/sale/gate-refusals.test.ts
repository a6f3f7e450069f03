import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseUsd } from '../../../src/kit/money.ts';
import { decodeBase64Json, encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import type { Challenge, Proofs, X402Gate } from '../../../src/payments/sale/gate.ts';
import {
  codeOf,
  createSale,
  overRest,
  price,
  refusalOf,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
} from '../support/gate-fixture.ts';
import { dieAt } from '../support/dying-store.ts';
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
    await expect(gate.sellAnswer(sale.request(guessed))).rejects.toThrow(/^The nonce of this payment/);
  });
});

it('a payment that is found when its answer is gone says how its money comes back', async () => {
  const sale = createSale('found late');
  const proofs = await fixture.buyer.prove(challenge, 'base');
  const { store, dead } = dieAt(fixture.store, 'after', 'produced');
  void fixture.openGate({ store }).sellAnswer(sale.request(proofs));
  await dead;
  const [payment] = await fixture.store.listPayments({ limit: 1 });
  const identity = payment?.identity ?? '';
  const later = fixture.openGate({ clock: { now: () => Date.now() + 90_000_000 } });
  const { controls } = fixture.chains.base;
  controls.inject({ fault: 'unavailable' });
  expect(await later.reconcileOne({ identity, transaction: null })).toMatchObject({ state: 'failed' });
  controls.clearFaults();
  const prunedAt = Date.now() + 90_000_001;
  await fixture.store.prunePayments({ rejectedBefore: 0, deliveredBefore: prunedAt, limit: 1_000 });
  // Somebody else has settled it.
  served(await fixture.openGate({ store: otherShop.store }).sellAnswer(sale.request(proofs)));
  expect(await later.reconcileOne({ identity, transaction: null })).toMatchObject({ state: 'settled' });
  const muchLater = fixture.openGate({ clock: { now: () => Date.now() + 200_000_000 } });
  for (const { sellAnswer } of [gate, muchLater]) {
    const { code, message } = await refusalOf(sellAnswer(sale.request(proofs)));
    expect([code, message]).toEqual(['payment_conflict', expect.stringContaining('give it back')]);
  }
  expect(await fixture.store.getPayment(identity)).toMatchObject({ state: 'settled' });
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
