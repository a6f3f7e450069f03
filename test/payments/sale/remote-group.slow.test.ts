import { generateKeyPairSync } from 'node:crypto';
import { getBase58Decoder } from '@solana/kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import type { X402Gate } from '../../../src/payments/sale/gate.ts';
import {
  startFacilitatorServer,
  type FacilitatorServer,
  type ServerMode,
} from '../support/facilitator-server.ts';
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
let first: FacilitatorServer;
let second: FacilitatorServer;
let gate: X402Gate;
const chains = ['base', 'solana'] as const;

/** A Solana key pair with money for fees. */
const createFeePayer = async (): Promise<{ address: string; secretKeyBase58: string }> => {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const publicKey = Buffer.from(x, 'base64url');
  const address = getBase58Decoder().decode(publicKey);
  await fetch(fixture.chains.solana.rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'requestAirdrop',
      params: [address, 1_000_000_000],
    }),
  });
  return {
    address,
    secretKeyBase58: getBase58Decoder().decode(Buffer.concat([Buffer.from(d, 'base64url'), publicKey])),
  };
};

const networksOf = (...servers: FacilitatorServer[]): PayableNetwork[] =>
  fixture.localNetworks.map((network) => ({
    ...network,
    facilitator: {
      kind: 'remote',
      endpoints: servers.map(({ url }) => ({ url, cdpKey: null })),
      rpcUrl: network.facilitator.kind === 'local' ? network.facilitator.rpcUrl : null,
    },
  }));
const openGate = async (...servers: FacilitatorServer[]): Promise<X402Gate> => {
  const opened = fixture.openGate({ networks: networksOf(...servers) });
  await opened.warmUp();
  return opened;
};
/** Gives up soon on a facilitator that answers nothing. */
const openImpatient = (...servers: FacilitatorServer[]): X402Gate =>
  fixture.openGate({ networks: networksOf(...servers), timeouts: { verifyMs: 6_000, settleMs: 2_000 } });

beforeAll(async () => {
  fixture = await startGateFixture();
  first = await startFacilitatorServer(fixture.chains);
  const { secretKeyBase58 } = await createFeePayer();
  second = await startFacilitatorServer(fixture.chains, { solanaKey: secretKeyBase58 });
});
beforeEach(async () => {
  gate = await openGate(first, second);
});
afterEach(() => {
  first.modes.clear();
  second.modes.clear();
});
afterAll(async () => {
  await first?.stop();
  await second?.stop();
  await fixture?.close();
});

const prove = (chain: (typeof chains)[number], by = gate) =>
  fixture.buyer.prove(by.challenge({ price, ...overRest }), chain);
const failing: ServerMode = { kind: 'say', status: 500, body: '{}' };
/** How often the work between these two moments was asked of whom. */
const countCalls = (path: string): (() => [number, number]) => {
  const [ofFirst, ofSecond] = [first.callCount(path), second.callCount(path)];
  return () => [first.callCount(path) - ofFirst, second.callCount(path) - ofSecond];
};

describe('several facilitators', () => {
  it('are asked in order: the first does all while it works', async () => {
    const verified = countCalls('/verify');
    const settled = countCalls('/settle');
    served(await gate.sellAnswer(createSale('first').request(await prove('base'))));
    expect([verified(), settled()]).toEqual([
      [1, 0],
      [1, 0],
    ]);
  });

  it('stand in for one that cannot verify; who verified settles', async () => {
    const verified = countCalls('/verify');
    const settled = countCalls('/settle');
    first.modes.set('/verify', failing);
    served(await gate.sellAnswer(createSale('fall over').request(await prove('base'))));
    expect([verified(), settled()]).toEqual([
      [1, 1],
      [0, 1],
    ]);
  });

  it('do not hear of a proof that the first refused', async () => {
    const poor = await fixture.createBuyer(1n);
    const proofs = await poor.prove(gate.challenge({ price, ...overRest }), 'base');
    const verified = countCalls('/verify');
    unpaid(await gate.sellAnswer(createSale('poor').request(proofs)));
    expect(verified()).toEqual([1, 0]);
  });

  it('leave one alone that goes on failing', async () => {
    const verified = countCalls('/verify');
    first.modes.set('/verify', { kind: 'hang' });
    const impatient = openImpatient(first, second);
    for (const name of ['one', 'two', 'three', 'four'])
      served(await impatient.sellAnswer(createSale(`alone ${name}`).request(await prove('base'))));
    expect(verified()).toEqual([2, 4]);
  });

  it('that all fail take nothing, and are asked at once when they work again', async () => {
    const sale = createSale('all fail');
    const proofs = await prove('base');
    for (const server of [first, second]) server.modes.set('/verify', failing);
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_unavailable');
    first.modes.clear();
    second.modes.clear();
    served(await gate.sellAnswer(sale.request(proofs)));
    expect(sale.produced).toBe(1);
  });

  it('are ready while one of them answers, with a line for each that does not', async () => {
    first.modes.set('/supported', failing);
    const open = await openGate(first, second);
    expect(open.status()).toMatchObject([
      { ready: true, detail: `the facilitator ${first.url} answers with status 500` },
      { ready: true },
    ]);
    const { accepts } = open.challenge({ price, ...overRest }).paymentRequired;
    expect(accepts.map(({ extra }) => extra['facilitator'])).toEqual([second.url, second.url]);
    second.modes.set('/supported', failing);
    await open.warmUp();
    expect(open.status()[0]).toMatchObject({
      ready: false,
      detail:
        `the facilitator ${first.url} answers with status 500; ` +
        `the facilitator ${second.url} answers with status 500`,
    });
  });
});

describe('a settlement that was begun at one facilitator', () => {
  const lost: ServerMode = { kind: 'lost' };

  it.each([
    ['it answers with an error', failing],
    ['it answers nothing', { kind: 'hang' } satisfies ServerMode],
  ])('stays with it when %s, also after a restart with another order', async (name, mode) => {
    const sale = createSale(`pinned ${name}`);
    const before = await fixture.balances('base');
    const settled = countCalls('/settle');
    const proofs = await prove('base');
    first.modes.set('/settle', mode);
    const impatient = openImpatient(first, second);
    expect(await codeOf(impatient.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect(await codeOf(impatient.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    const reordered = openImpatient(second, first);
    expect(await codeOf(reordered.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect(settled()).toEqual([3, 0]);
    first.modes.clear();
    served(await (await openGate(second, first)).sellAnswer(sale.request(proofs)));
    expect(settled()).toEqual([4, 0]);
    expect(sale.produced).toBe(1);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('goes nowhere else when that one is no longer configured', async () => {
    const sale = createSale('gone');
    const before = await fixture.balances('base');
    const proofs = await prove('base');
    first.modes.set('/settle', failing);
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    const settled = countCalls('/settle');
    const without = await openGate(second);
    expect(await codeOf(without.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect(await codeOf(without.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect(settled()).toEqual([0, 0]);
    expect((await fixture.balances('base')).seller).toBe(before.seller);
  });

  it.each(chains)(
    'that is no longer configured is found on the chain of %s when it was done',
    async (chain) => {
      const sale = createSale(`gone and paid ${chain}`);
      const before = await fixture.balances(chain);
      const proofs = await prove(chain);
      first.modes.set('/settle', lost);
      expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
      const settled = countCalls('/settle');
      const without = await openGate(second);
      expect(served(await without.sellAnswer(sale.request(proofs))).replayed).toBe(true);
      expect(settled()).toEqual([0, 0]);
      expect(sale.produced).toBe(1);
      expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
    },
  );

  it('waits for it when it cannot be reached, and is done once when it can', async () => {
    const sale = createSale('unreached');
    const before = await fixture.balances('base');
    const settled = countCalls('/settle');
    const proofs = await prove('base');
    const stopping = sale.request(proofs, {
      produce: async (signal, payment) => {
        await first.stop();
        return sale.request(proofs).produce(signal, payment);
      },
    });
    expect(await codeOf(gate.sellAnswer(stopping))).toBe('payment_pending');
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect(settled()).toEqual([0, 0]);
    await first.resume();
    served(await gate.sellAnswer(sale.request(proofs)));
    expect(settled()).toEqual([1, 0]);
    expect(sale.produced).toBe(1);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });
});

describe('a Solana fee payer', () => {
  const feePayerOf = (of: X402Gate): unknown =>
    of.challenge({ price, ...overRest }).paymentRequired.accepts[1]?.extra['feePayer'];

  it('is that of the first facilitator that answers, and stays while none does', async () => {
    const own = fixture.chains.solana.facilitator.address;
    expect(feePayerOf(gate)).toBe(own);
    first.modes.set('/supported', failing);
    await gate.warmUp();
    const other = feePayerOf(gate);
    expect(other).not.toBe(own);
    second.modes.set('/supported', failing);
    await gate.warmUp();
    expect(feePayerOf(gate)).toBe(other);
    first.modes.clear();
    await gate.warmUp();
    expect(feePayerOf(gate)).toBe(own);
  });

  it('of a facilitator that stopped answering before the start is not offered', async () => {
    first.modes.set('/supported', failing);
    const open = await openGate(first, second);
    expect(feePayerOf(open)).not.toBe(fixture.chains.solana.facilitator.address);
    const settled = countCalls('/settle');
    served(await open.sellAnswer(createSale('second').request(await prove('solana', open))));
    expect(settled()).toEqual([0, 1]);
  });

  it('decides where a proof goes, whoever is offered by now', async () => {
    const proofs = await prove('solana');
    first.modes.set('/verify', failing);
    first.modes.set('/supported', failing);
    await gate.warmUp();
    const verified = countCalls('/verify');
    const sale = createSale('owner');
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_unavailable');
    expect(verified()).toEqual([1, 0]);
    first.modes.clear();
    served(await gate.sellAnswer(sale.request(proofs)));
    expect(verified()).toEqual([2, 0]);
  });

  it('of a facilitator that begins to fail is replaced at once in what is offered', async () => {
    const own = feePayerOf(gate);
    const sale = createSale('replaced');
    first.modes.set('/verify', failing);
    expect(await codeOf(gate.sellAnswer(sale.request(await prove('solana'))))).toBe('payment_unavailable');
    await vi.waitFor(() => expect(feePayerOf(gate)).not.toBe(own), 60_000);
    const settled = countCalls('/settle');
    served(await gate.sellAnswer(sale.request(await prove('solana'))));
    expect(settled()).toEqual([0, 1]);
  });

  it('of nobody here is refused without asking', async () => {
    const { secretKeyBase58 } = await createFeePayer();
    const third = await startFacilitatorServer(fixture.chains, { solanaKey: secretKeyBase58 });
    const elsewhere = await openGate(third);
    const proofs = await prove('solana', elsewhere);
    await third.stop();
    const verified = countCalls('/verify');
    const refused = unpaid(await gate.sellAnswer(createSale('foreign').request(proofs)));
    expect(refused.challenge.body.error).toBe('invalid_exact_svm_fee_payer_not_managed_by_facilitator');
    expect(verified()).toEqual([0, 0]);
  });
});
