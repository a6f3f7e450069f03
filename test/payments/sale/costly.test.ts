import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { X402Gate } from '../../../src/payments/sale/gate.ts';
import { parseProof, paymentIdentity, type Proofs } from '../../../src/payments/wire/parse-proof.ts';
import {
  codeOf,
  createSale,
  overRest,
  price,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
} from '../support/gate-fixture.ts';

let fixture: GateFixture;
let gate: X402Gate;
beforeAll(async () => {
  fixture = await startGateFixture();
  gate = fixture.openGate();
});
afterAll(() => fixture?.close());

const prove = (chain: 'base' | 'solana'): Promise<Proofs> =>
  fixture.buyer.prove(gate.challenge({ price, ...overRest }), chain);

const ask = (name: string, proofs: Proofs, client: string, produce = async () => '{}') =>
  gate.sellAnswer(createSale(name).request(proofs, { costsMoney: true, client, produce }));

/** Work that is done, and whose payment then cannot be settled any more. */
const loseOnce = async (name: string, client: string): Promise<Proofs> => {
  const proofs = await prove('solana');
  const { controls } = fixture.chains.solana;
  const late = async (): Promise<string> => {
    controls.expireBlockhash();
    return '{}';
  };
  unpaid(await ask(name, proofs, client, late));
  return proofs;
};

describe('work that costs money and was not paid in the end', () => {
  it('is done three times an hour at most for one address, whoever pays', async () => {
    const client = '203.0.113.9';
    for (const name of ['one', 'two', 'three']) await loseOnce(name, client);
    expect(await codeOf(ask('four', await prove('base'), client))).toBe('rate_limit_exceeded');
    served(await ask('elsewhere', await prove('base'), '203.0.113.10'));
  });

  it('is looked for on the chain no more once its payment is closed', async () => {
    const client = '203.0.113.11';
    const proofs = await prove('base');
    const identity = await paymentIdentity(parseProof(proofs));
    served(await ask('closed', proofs, client));
    // The chain would say that it was settled.
    const closed = { to: 'failed', set: { checkAt: null, reason: 'gone' }, now: Date.now() } as const;
    await expect
      .poll(() => fixture.store.advancePayment({ identity, from: ['delivered'], ...closed }))
      .not.toBeNull();
    const again = unpaid(await ask('closed', proofs, client));
    expect(again.challenge.body.error).toBe('gone');
  });
});
