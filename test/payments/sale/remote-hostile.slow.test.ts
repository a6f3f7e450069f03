import { createWalletClient, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseUsd } from '../../../src/kit/money.ts';
import type { FacilitatorTimeouts } from '../../../src/payments/chains/core/facilitator.ts';
import type { PayableNetwork } from '../../../src/payments/chains/payment-methods.ts';
import type { X402Gate } from '../../../src/payments/sale/gate.ts';
import { startRpcProxy, forwardTo } from '../../chains/rpc-proxy.ts';
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
  refusalOf,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
} from '../support/gate-fixture.ts';

let fixture: GateFixture;
let server: FacilitatorServer;
/** Where redirects point: nobody else may ever see a proof. */
let stranger: FacilitatorServer;
let gate: X402Gate;
const chains = ['base', 'solana'] as const;
type ChainName = (typeof chains)[number];

/** `rpcUrl`: another node for Base. */
const networksWith = (rpcUrl?: string): PayableNetwork[] =>
  fixture.localNetworks.map((network) => ({
    ...network,
    facilitator: {
      kind: 'remote',
      endpoints: [{ url: server.url, cdpKey: null }],
      rpcUrl: rpcUrl ?? (network.facilitator.kind === 'local' ? network.facilitator.rpcUrl : null),
    },
  }));

beforeAll(async () => {
  fixture = await startGateFixture();
  server = await startFacilitatorServer(fixture.chains);
  stranger = await startFacilitatorServer(fixture.chains);
});
beforeEach(async () => {
  gate = fixture.openGate({ networks: networksWith() });
  await gate.warmUp();
});
/** Gives up soon on what never comes: such an answer, or a transaction that the chain does not know. */
const openImpatient = async (timeouts: Partial<FacilitatorTimeouts>): Promise<X402Gate> => {
  const opened = fixture.openGate({ networks: networksWith(), timeouts });
  await vi.waitFor(async () => {
    await opened.warmUp();
    expect(opened.status()).toMatchObject([{ ready: true }, { ready: true }]);
  }, 60_000);
  return opened;
};
afterEach(() => server.modes.clear());
afterAll(async () => {
  await server?.stop();
  await stranger?.stop();
  await fixture?.close();
});

const prove = (chain: ChainName) => fixture.buyer.prove(gate.challenge({ price, ...overRest }), chain);
const say = (status: number, body: unknown): ServerMode => ({
  kind: 'say',
  status,
  body: JSON.stringify(body),
});
const answer = (name: string, status: number, body: unknown): [string, () => ServerMode] => [
  name,
  () => say(status, body),
];
const html = { 'content-type': 'text/html' };
const hugeBytes = 2 * 1024 ** 2;

/** Broken in ways that have nothing to do with what was asked; `good` is what would be believed. */
const broken = (path: string, good: Record<string, unknown>): [string, () => ServerMode][] => [
  ['500', () => say(500, { error: 'boom' })],
  ['500 and a good answer', () => say(500, good)],
  ['502 and a page', () => ({ kind: 'say', status: 502, body: '<h1>Bad gateway</h1>', headers: html })],
  ['a page', () => ({ kind: 'say', status: 200, body: '<html>', headers: html })],
  ['null', () => say(200, null)],
  ['JSON of another kind', () => say(200, { ok: true })],
  ['400 and an error of its own', () => say(400, { errorType: 'invalid_request' })],
  ['half a good answer', () => ({ kind: 'say', status: 200, body: JSON.stringify(good), isCut: true })],
  ['a good answer of 2 MB', () => say(200, { ...good, padding: 'x'.repeat(hugeBytes) })],
  ['401 and a refusal', () => say(401, { isValid: false, success: false, invalidReason: 'invalid_payload' })],
  ['403', () => say(403, {})],
  ['429', () => say(429, { error: 'slow down' })],
  ['nothing', () => ({ kind: 'hang' })],
  ['a cut before it read', () => ({ kind: 'cut-unread' })],
  ['a cut after it read', () => ({ kind: 'cut-read' })],
  ...[301, 307, 308].map((status): [string, () => ServerMode] => [
    `a redirect (${status})`,
    () => ({ kind: 'say', status, body: '', headers: { location: `${stranger.url}${path}` } }),
  ]),
];

describe('a facilitator that names another payer', () => {
  it.each(chains)('is not believed: refunds go to who signed (%s)', async (chain) => {
    const sale = createSale(`other payer on ${chain}`);
    const proofs = await prove(chain);
    const stranger = chain === 'base' ? `0x${'5'.repeat(40)}` : '1'.repeat(32);
    const twist = (answer: unknown) => ({ ...Object(answer), payer: stranger });
    server.modes.set('/verify', { kind: 'twist', twist });
    server.modes.set('/settle', { kind: 'twist', twist });
    served(await gate.sellAnswer(sale.request(proofs)));
    const [payment] = await fixture.store.listPayments({ limit: 1 });
    expect(payment?.payer?.toLowerCase()).toBe(fixture.buyer.addresses[chain].toLowerCase());
    expect(payment?.receipt).not.toContain(stranger);
  });
});

describe('a facilitator that answers a verification with', () => {
  it.each([
    ...broken('/verify', { isValid: true, payer: 'somebody' }),
    answer('its own trouble', 200, { isValid: false, invalidReason: 'unexpected_verify_error' }),
    answer('a verdict of yes under 400', 400, { isValid: true }),
  ])('%s has not judged the proof, which can be used again', async (name, mode) => {
    const sale = createSale(`verify ${name}`);
    const proofs = await prove('base');
    server.modes.set('/verify', mode());
    const asking = mode().kind === 'hang' ? await openImpatient({ verifyMs: 1_000 }) : gate;
    expect(await codeOf(asking.sellAnswer(sale.request(proofs)))).toBe('payment_unavailable');
    expect(sale.produced).toBe(0);
    expect(stranger.callCount('/verify')).toBe(0);
    server.modes.clear();
    served(await gate.sellAnswer(sale.request(proofs)));
  });

  it('yes to a Solana transfer of less is not believed', async () => {
    const cheap = gate.challenge({ price: parseUsd('0.01'), ...overRest });
    const proofs = await fixture.buyer.prove(cheap, 'solana', 1);
    const sale = createSale('less');
    server.modes.set('/verify', say(200, { isValid: true, payer: fixture.buyer.addresses.solana }));
    const refused = unpaid(await gate.sellAnswer(sale.request(proofs)));
    expect(refused.challenge.body.error).toBe('invalid_exact_svm_payload_no_transfer_instruction');
    expect(sale.produced).toBe(0);
  });

  it('yes to a Solana transfer to somebody else is not believed', async () => {
    const elsewhere = networksWith().map((network) => ({
      ...network,
      payTo: network.network.startsWith('solana:') ? fixture.buyer.addresses.solana : network.payTo,
    }));
    const other = fixture.openGate({ networks: elsewhere });
    await other.warmUp();
    const proofs = await fixture.buyer.prove(other.challenge({ price, ...overRest }), 'solana', 1);
    const sale = createSale('to somebody else');
    server.modes.set('/verify', say(200, { isValid: true, payer: fixture.buyer.addresses.solana }));
    const refused = unpaid(await gate.sellAnswer(sale.request(proofs)));
    expect(refused.challenge.body.error).toBe('invalid_exact_svm_payload_no_transfer_instruction');
    expect(sale.produced).toBe(0);
  });
});

/** Pays for something else first, and answers the transaction that did. */
const payBefore = async (chain: ChainName, name: string): Promise<string> => {
  const { transaction } = served(await gate.sellAnswer(createSale(name).request(await prove(chain))));
  return transaction ?? '';
};

describe('a facilitator that answers a settlement, which it did not do, with', () => {
  it.each([
    ...broken('/settle', { success: true, transaction: `0x${'ab'.repeat(32)}` }),
    answer('pending', 200, { success: false, errorReason: 'settlement_pending', transaction: '' }),
    answer('a failure of no known kind', 200, { success: false, errorReason: 'unexpected_error' }),
    answer('a failure of a transaction', 200, {
      success: false,
      errorReason: 'invalid_exact_evm_transaction_failed',
      transaction: `0x${'cd'.repeat(32)}`,
    }),
    answer('a refusal that names a transaction', 200, {
      success: false,
      errorReason: 'invalid_payload',
      transaction: `0x${'cd'.repeat(32)}`,
    }),
    answer('success without a transaction', 200, { success: true, transaction: '' }),
    answer('success under a name that is none', 200, { success: true, transaction: '../../etc' }),
    answer('a refusal under 403', 403, { success: false, errorReason: 'invalid_payload', transaction: '' }),
    answer('a refusal under 500', 500, { success: false, errorReason: 'invalid_payload', transaction: '' }),
  ])('%s leaves it open: nothing is served, and the same proof pays once later', async (name, mode) => {
    const sale = createSale(`settle ${name}`);
    const before = await fixture.balances('base');
    const proofs = await prove('base');
    server.modes.set('/settle', mode());
    const asking = mode().kind === 'hang' ? await openImpatient({ settleMs: 2_000 }) : gate;
    expect(await codeOf(asking.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect(await codeOf(asking.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect(stranger.callCount('/settle')).toBe(0);
    expect((await fixture.balances('base')).seller).toBe(before.seller);
    server.modes.clear();
    served(await gate.sellAnswer(sale.request(proofs)));
    expect(sale.produced).toBe(1);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('an error, and then a refusal, may have settled it at first', async () => {
    const sale = createSale('refused later');
    const before = await fixture.balances('base');
    const proofs = await prove('base');
    server.modes.set('/settle', say(500, {}));
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    server.modes.set(
      '/settle',
      say(200, { success: false, errorReason: 'insufficient_funds', transaction: '' }),
    );
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    server.modes.clear();
    served(await gate.sellAnswer(sale.request(proofs)));
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('the name of a transaction of its own that failed has not failed the payment', async () => {
    const { base } = fixture.chains;
    const wallet = createWalletClient({
      account: privateKeyToAccount(base.facilitator.privateKey),
      chain: baseSepolia,
      transport: http(base.rpcUrl),
    }).extend(publicActions);
    const hash = await wallet.sendTransaction({ to: base.usdc, data: '0xdeadbeef', gas: 100_000n });
    expect(await wallet.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'reverted' });
    const sale = createSale('reverted');
    const before = await fixture.balances('base');
    const proofs = await prove('base');
    server.modes.set(
      '/settle',
      say(200, { success: false, errorReason: 'settlement_pending', transaction: hash }),
    );
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    server.modes.clear();
    served(await gate.sellAnswer(sale.request(proofs)));
    expect(sale.produced).toBe(1);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it.each(chains)('success and a transaction that %s does not know is not believed', async (chain) => {
    const sale = createSale(`invented ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await prove(chain);
    const invented = chain === 'base' ? `0x${'12'.repeat(32)}` : '5'.repeat(88);
    server.modes.set('/settle', say(200, { success: true, transaction: invented }));
    const asking = await openImpatient({ queryMs: 1_000 });
    expect(await codeOf(asking.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect(await codeOf(asking.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    server.modes.clear();
    const paid = served(await gate.sellAnswer(sale.request(proofs)));
    expect(paid.transaction).not.toBe(invented);
    expect(sale.produced).toBe(1);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it.each(chains)('success and the transaction of another payment on %s is not believed', async (chain) => {
    const other = await payBefore(chain, `other ${chain}`);
    const sale = createSale(`borrowed ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await prove(chain);
    server.modes.set('/settle', say(200, { success: true, transaction: other }));
    const asking = await openImpatient({ queryMs: 1_000 });
    expect(await codeOf(asking.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    expect((await fixture.balances(chain)).seller).toBe(before.seller);
    server.modes.clear();
    const paid = served(await gate.sellAnswer(sale.request(proofs)));
    expect(paid.transaction).not.toBe(other);
    expect(sale.produced).toBe(1);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });
});

describe('a facilitator that settles', () => {
  const change = (changes: Record<string, unknown>) => (answer: unknown) =>
    Object.assign({}, answer, changes);
  const pending = change({ success: false, errorReason: 'settlement_pending' });
  const nameless = change({ transaction: '' });
  const refusal = { success: false, errorReason: 'invalid_payload', transaction: '' };
  const ways: [string, () => ServerMode][] = [
    ['says that it is pending', () => ({ kind: 'twist', twist: pending })],
    ['names no transaction', () => ({ kind: 'twist', twist: nameless })],
    ['says that it failed', () => ({ kind: 'lie', body: JSON.stringify(refusal) })],
    ['answers half', () => ({ kind: 'lie', body: '{"success":tr' })],
    ['loses the answer', () => ({ kind: 'lost' })],
  ];
  it.each(chains.flatMap((chain) => ways.map(([name, mode]) => [chain, name, mode] as const)))(
    'on %s and %s has charged once: the buyer is never asked to pay again and gets the result',
    async (chain, name, mode) => {
      const sale = createSale(`${chain} ${name}`);
      const before = await fixture.balances(chain);
      const proofs = await prove(chain);
      server.modes.set('/settle', mode());
      const first = await gate.sellAnswer(sale.request(proofs)).catch((error: unknown) => error);
      expect(first).not.toMatchObject({ outcome: 'unpaid' });
      server.modes.clear();
      const paid = served(await gate.sellAnswer(sale.request(proofs)));
      expect(paid.transaction).toMatch(/^(?:0x[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{80,90})$/);
      expect(sale.produced).toBe(1);
      expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
    },
  );

  it.each(chains)('on %s under the name of another payment: the chain tells the right one', async (chain) => {
    const other = await payBefore(chain, `named ${chain}`);
    const sale = createSale(`misnamed ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await prove(chain);
    server.modes.set('/settle', { kind: 'twist', twist: change({ transaction: other }) });
    const paid = served(await gate.sellAnswer(sale.request(proofs)));
    expect(paid.transaction).not.toBe(other);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('is waited for by a node that is behind', async () => {
    const forward = forwardTo(fixture.chains.base.rpcUrl);
    const late = new Set<string>();
    const node = await startRpcProxy({
      port: 0,
      forward: (body) => {
        const [call] = body.calls;
        const method = call?.method ?? '';
        if (!late.delete(method)) return forward(body);
        const result = method === 'eth_call' ? `0x${'0'.repeat(64)}` : null;
        return Promise.resolve(JSON.stringify({ jsonrpc: '2.0', id: call?.id, result }));
      },
    });
    const behind = fixture.openGate({ networks: networksWith(node.url) });
    await behind.warmUp();
    const proofs = await prove('base');
    late.add('eth_getTransactionReceipt').add('eth_call');
    served(await behind.sellAnswer(createSale('behind').request(proofs)));
    expect(late).toEqual(new Set());
    await node.stop();
  });
});

describe('the word of a facilitator while no node of the chain answers', () => {
  const openBlind = async (): Promise<X402Gate> => {
    const blind = fixture.openGate({
      networks: networksWith('http://127.0.0.1:9'),
      timeouts: { queryMs: 1_500 },
    });
    await blind.warmUp();
    return blind;
  };
  /** By a buyer of whom nothing is open: while no node answers, nobody knows what a second payment is covered by. */
  const proveAnew = async () =>
    (await fixture.createBuyer(priceUnits)).prove(gate.challenge({ price, ...overRest }), 'base');

  it('delivers nothing; the payment is pending until a node answers, and is then served once', async () => {
    const blind = await openBlind();
    const sale = createSale('no node');
    const before = await fixture.balances('base');
    const proofs = await proveAnew();
    const refusal = await refusalOf(blind.sellAnswer(sale.request(proofs)));
    expect(refusal).toMatchObject({ code: 'payment_pending', status: 503, retryAfterSeconds: 5 });
    expect(await codeOf(blind.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
    const paid = served(await gate.sellAnswer(sale.request(proofs)));
    expect(paid.transaction).toBe(refusal.headers['x-payment-transaction']);
    expect(sale.produced).toBe(1);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('proves nothing by the transaction of another payment', async () => {
    const other = await payBefore('base', 'taken name');
    const blind = await openBlind();
    const sale = createSale('second of that name').request(await proveAnew());
    server.modes.set('/settle', say(200, { success: true, transaction: other }));
    expect(await codeOf(blind.sellAnswer(sale))).toBe('payment_pending');
    expect(await codeOf(blind.sellAnswer(sale))).toBe('payment_pending');
  });
});

describe('the word of a facilitator while a node answers', () => {
  it('is not believed of an authorization that ran out unused', async () => {
    const trusting = fixture.openGate({
      networks: networksWith(),
      timeouts: { queryMs: 1_500 },
    });
    await trusting.warmUp();
    const sale = createSale('ran out unused');
    const proofs = await prove('base');
    server.modes.set('/verify', say(200, { isValid: true, payer: fixture.buyer.addresses.base }));
    server.modes.set('/settle', say(200, { success: true, transaction: `0x${'56'.repeat(32)}` }));
    await fixture.chains.base.controls.advanceSeconds(7_200);
    expect(await codeOf(trusting.sellAnswer(sale.request(proofs)))).toBe('payment_pending');
  });
});
