import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeBase58 } from '../../../src/payments/chains/solana/base58.ts';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import type { Challenge, Proofs, X402Gate } from '../../../src/payments/sale/gate.ts';
import type { ListedPayment } from '../../../src/store/store.ts';
import { startSolanaChain, type SolanaChain } from '../../chains/solana-chain.ts';
import { dieAt } from '../support/dying-store.ts';
import { startFacilitatorServer, type FacilitatorServer } from '../support/facilitator-server.ts';
import {
  codeOf,
  createSale,
  overRest,
  price,
  priceUnits,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
  type Sale,
} from '../support/gate-fixture.ts';

const minuteMs = 60_000;

let fixture: GateFixture;
let challenge: Challenge;
/** The same cluster as a node sees it that stopped following it before the buyer asked for a blockhash. */
let stalled: SolanaChain;
let server: FacilitatorServer;
beforeAll(async () => {
  fixture = await startGateFixture();
  stalled = await startSolanaChain();
  server = await startFacilitatorServer(fixture.chains);
  challenge = fixture.openGate().challenge({ price, ...overRest });
});
afterAll(async () => {
  await server?.stop();
  await stalled?.stop();
  await fixture?.close();
});

interface SolanaGateOptions {
  aheadMs?: number;
  rpcUrl?: string;
  privateKey?: string;
}

const openGate = ({ aheadMs = 0, ...changes }: SolanaGateOptions): X402Gate =>
  fixture.openGate({
    clock: { now: () => Date.now() + aheadMs },
    networks: fixture.localNetworks.map((network) =>
      network.facilitator.kind === 'local' && network.network.startsWith('solana:')
        ? { ...network, facilitator: { ...network.facilitator, ...changes } }
        : network,
    ),
  });

const remoteNetworks = (): PayableNetwork[] =>
  fixture.localNetworks
    .filter(({ network }) => network.startsWith('solana:'))
    .map((network) => ({
      ...network,
      facilitator: {
        kind: 'remote',
        endpoints: [{ url: server.url, cdpKey: null }],
        rpcUrl: fixture.chains.solana.rpcUrl,
      },
    }));

const newKey = (): string => {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return encodeBase58(Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]));
};

const newest = async (): Promise<ListedPayment> => {
  const [payment] = await fixture.store.listPayments({ limit: 1 });
  if (payment === undefined) throw new Error('there is no payment');
  return payment;
};

/** Charges the buyer, and dies before that is written down. */
const chargeAndDie = async (sale: Sale): Promise<{ proofs: Proofs; charged: ListedPayment }> => {
  const before = await fixture.balances('solana');
  const proofs = await fixture.buyer.prove(challenge, 'solana');
  const { store, dead } = dieAt(fixture.store, 'before', 'settled');
  void fixture.openGate({ store }).sellAnswer(sale.request(proofs));
  await dead;
  expect((await fixture.balances('solana')).seller).toBe(before.seller + priceUnits);
  return { proofs, charged: await newest() };
};

describe('a Solana node that stands still', () => {
  it('does not make a failed payment of one that charged its buyer', async () => {
    const sale = createSale('node behind');
    const { proofs } = await chargeAndDie(sale);
    const later = openGate({ aheadMs: 4 * minuteMs, rpcUrl: stalled.rpcUrl });
    await later.reconcile({ limit: 100 });
    expect((await newest()).state).toBe('unknown');
    expect(await codeOf(later.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    served(await fixture.openGate().sellAnswer(sale.request(proofs)));
    expect(sale.produced).toBe(1);
  });

  it('takes no delivered payment back', async () => {
    const proofs = await fixture.buyer.prove(challenge, 'solana');
    served(await fixture.openGate().sellAnswer(createSale('delivered').request(proofs)));
    for (const minutes of [4, 8, 30]) {
      await openGate({ aheadMs: minutes * minuteMs, rpcUrl: stalled.rpcUrl }).reconcile({ limit: 100 });
      expect((await newest()).state).toBe('delivered');
    }
  });
});

describe('a Solana payment that was written down and never sent', () => {
  it('ends, and its buyer can pay anew, at a node that does not tell the time of blocks', async () => {
    const { controls } = fixture.chains.solana;
    const sale = createSale('never sent');
    const before = await fixture.balances('solana');
    const proofs = await fixture.buyer.prove(challenge, 'solana');
    const { store, dead } = dieAt(fixture.store, 'after', 'broadcasting');
    void fixture.openGate({ store }).sellAnswer(sale.request(proofs));
    await dead;
    controls.inject({ fault: 'error', methods: ['getBlockTime'] });
    controls.expireBlockhash();
    const later = openGate({ aheadMs: 4 * minuteMs });
    const refused = unpaid(await later.sellAnswer(sale.request(proofs)));
    expect(refused.challenge.body.error).toBe('invalid_exact_svm_blockhash_expired');
    expect((await newest()).state).toBe('failed');
    expect(await fixture.balances('solana')).toEqual(before);
    served(await fixture.openGate().sellAnswer(sale.request(await fixture.buyer.prove(challenge, 'solana'))));
    controls.clearFaults();
  });
});

describe('a Solana payment that charged its buyer', () => {
  it.each([1, 10, 24 * 60])('is found %i minutes later, after the fee payer was changed', async (minutes) => {
    const sale = createSale(`changed key, ${minutes}`);
    const { proofs, charged } = await chargeAndDie(sale);
    const gate = openGate({ aheadMs: minutes * minuteMs, privateKey: newKey() });
    await gate.reconcileOne({ identity: (await newest()).identity, transaction: null });
    expect(await newest()).toMatchObject({ state: 'settled', transaction: charged.transaction });
    served(await gate.sellAnswer(sale.request(proofs)));
    expect(sale.produced).toBe(1);
  });

  it('stays settled at the last look after the fee payer was changed', async () => {
    const proofs = await fixture.buyer.prove(challenge, 'solana');
    served(await fixture.openGate().sellAnswer(createSale('last look').request(proofs)));
    await openGate({ aheadMs: 4 * minuteMs, privateKey: newKey() }).reconcile({ limit: 100 });
    expect(await newest()).toMatchObject({ state: 'delivered', checkAt: null });
  });

  it('through a facilitator elsewhere is found after the gateway settles itself, with another key', async () => {
    const elsewhere = fixture.openGate({ networks: remoteNetworks() });
    await elsewhere.warmUp();
    const sale = createSale('moved in');
    const before = await fixture.balances('solana');
    const proofs = await fixture.buyer.prove(elsewhere.challenge({ price, ...overRest }), 'solana');
    server.modes.set('/settle', { kind: 'lost' });
    expect(await codeOf(elsewhere.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    server.modes.clear();
    expect((await fixture.balances('solana')).seller).toBe(before.seller + priceUnits);
    const { identity } = await newest();
    await openGate({ aheadMs: minuteMs, privateKey: newKey() }).reconcileOne({ identity, transaction: null });
    expect((await newest()).state).toBe('settled');
    expect(served(await fixture.openGate().sellAnswer(sale.request(proofs))).replayed).toBe(true);
  });
});
