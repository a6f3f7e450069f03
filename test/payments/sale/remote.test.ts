import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import type { X402Gate } from '../../../src/payments/sale/gate.ts';
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
} from '../support/gate-fixture.ts';

let fixture: GateFixture;
let server: FacilitatorServer;
let networks: PayableNetwork[];
let gate: X402Gate;
/** What only asking for an outcome uses. */
const readMethods = ['eth_getLogs', 'eth_getBlockByNumber', 'getSignaturesForAddress'];
const chains = ['base', 'solana'] as const;

beforeAll(async () => {
  fixture = await startGateFixture();
  server = await startFacilitatorServer(fixture.chains);
  const rpcUrlOf = ({ facilitator }: PayableNetwork) =>
    facilitator.kind === 'local' ? facilitator.rpcUrl : null;
  networks = fixture.localNetworks.map((network) => ({
    ...network,
    facilitator: {
      kind: 'remote',
      endpoints: [{ url: server.url, cdpKey: null }],
      rpcUrl: rpcUrlOf(network),
    },
  }));
});
beforeEach(async () => {
  gate = fixture.openGate({ networks });
  await gate.warmUp();
});
afterEach(() => server.modes.clear());
afterAll(async () => {
  await server?.stop();
  await fixture?.close();
});

const prove = (chain: (typeof chains)[number]) =>
  fixture.buyer.prove(gate.challenge({ price, ...overRest }), chain);
const say = (status: number, body: unknown) => ({
  kind: 'say' as const,
  status,
  body: JSON.stringify(body),
});

describe('a remote facilitator', () => {
  it('is named in the terms, with the fee payer that it gave', () => {
    const { accepts } = gate.challenge({ price, ...overRest }).paymentRequired;
    expect(accepts).toMatchObject([
      { network: 'eip155:84532', extra: { facilitator: server.url, name: 'USDC', version: '2' } },
      { extra: { facilitator: server.url, feePayer: fixture.chains.solana.facilitator.address } },
    ]);
    expect(gate.status()).toMatchObject([
      { facilitator: 'remote', ready: true },
      { facilitator: 'remote', ready: true },
    ]);
  });

  it('leaves nothing to tell that is settled here', () => {
    expect(gate.supported()).toBeNull();
    expect(fixture.openGate().supported()).not.toBeNull();
  });

  it.each(chains)('verifies and settles on %s', async (chain) => {
    const sale = createSale(`remote ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await prove(chain);
    const first = served(await gate.sellAnswer(sale.request(proofs)));
    expect(first.transaction).toMatch(/^(?:0x[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{80,90})$/);
    const again = served(await gate.sellAnswer(sale.request(proofs)));
    expect(again).toEqual({ ...first, replayed: true });
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it.each(chains)('refuses a buyer without money on %s', async (chain) => {
    const poor = await fixture.createBuyer(1n);
    const proofs = await poor.prove(gate.challenge({ price, ...overRest }), chain);
    const refused = unpaid(await gate.sellAnswer(createSale('poor').request(proofs)));
    expect(refused.challenge.body.error).toMatch(/^invalid_exact_(?:evm|svm)_/);
  });

  it.each(chains)('that settles on %s and then refuses is not believed: the chain is', async (chain) => {
    const sale = createSale(`lie ${chain}`);
    const before = await fixture.balances(chain);
    const proof = await prove(chain);
    const body = JSON.stringify({ success: false, errorReason: 'insufficient_funds', transaction: '' });
    server.modes.set('/settle', { kind: 'lie', body });
    const outcome = await gate.sellAnswer(sale.request(proof)).catch((error: unknown) => error);
    expect(outcome).not.toMatchObject({ outcome: 'unpaid' });
    server.modes.clear();
    served(await gate.sellAnswer(sale.request(proof)));
    expect(sale.produced).toBe(1);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('that refuses a settlement before sending it has not charged', async () => {
    const sale = createSale('refused at settlement');
    const proofs = await prove('base');
    server.modes.set(
      '/settle',
      say(200, { success: false, errorReason: 'invalid_exact_evm_insufficient_balance', transaction: '' }),
    );
    const refused = unpaid(await gate.sellAnswer(sale.request(proofs)));
    expect(refused.challenge.body.error).toBe('invalid_exact_evm_insufficient_balance');
    expect(refused.receipt?.response.success).toBe(false);
  });

  it.each(chains)('whose answer to a settlement is lost: the chain of %s is asked', async (chain) => {
    const sale = createSale(`lost answer ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await prove(chain);
    server.modes.set('/settle', { kind: 'lost' });
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
    // It now refuses, as the payment is on the chain; that is no reason to ask for another one.
    server.modes.clear();
    const outage = fixture.chains[chain].controls.inject({ fault: 'unavailable', methods: readMethods });
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    outage.remove();
    const answer = served(await gate.sellAnswer(sale.request(proofs)));
    expect(answer).toMatchObject({ replayed: true, receipt: { response: { success: true } } });
    expect(answer.transaction).toMatch(/^(?:0x[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{80,90})$/);
    expect(sale.produced).toBe(1);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('that never sent a payment on solana: proven once its blockhash is long dead', async () => {
    let aheadMs = 0;
    const later = fixture.openGate({
      networks,
      clock: { now: () => Date.now() + aheadMs },
    });
    await later.warmUp();
    const sale = createSale('never sent');
    const proofs = await prove('solana');
    server.modes.set('/settle', say(500, {}));
    expect(await codeOf(later.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    fixture.chains.solana.controls.expireBlockhash();
    expect(await codeOf(later.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    aheadMs = 181_000;
    expect(unpaid(await later.sellAnswer(sale.request(proofs))).challenge.body.error).toBe(
      'invalid_exact_svm_blockhash_expired',
    );
  });

  it('that does not answer at start leaves the service up, with the networks that need nothing of it', async () => {
    server.modes.set('/supported', say(503, {}));
    const cold = fixture.openGate({ networks });
    await cold.warmUp();
    expect(cold.status().map(({ ready }) => ready)).toEqual([false, false]);
    const { accepts } = cold.challenge({ price, ...overRest }).paymentRequired;
    expect(accepts.map(({ network }) => network)).toEqual(['eip155:84532']);
    const solanaOnly = fixture.openGate({ networks: networks.slice(1) });
    expect(() => solanaOnly.challenge({ price, ...overRest })).toThrow(
      expect.objectContaining({ code: 'payment_unavailable' }),
    );
    const proofs = await prove('solana');
    expect(await codeOf(solanaOnly.sellAnswer(createSale('cold').request(proofs)))).toBe(
      'payment_unavailable',
    );
  });

  it('that does not settle on a network is not offered for it', async () => {
    server.modes.set(
      '/supported',
      say(200, { kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:1' }] }),
    );
    const other = fixture.openGate({ networks });
    await other.warmUp();
    expect(() => other.challenge({ price, ...overRest })).toThrow(
      expect.objectContaining({ code: 'payment_unavailable' }),
    );
  });
});
