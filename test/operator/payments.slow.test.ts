import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { startChains, type Chains } from '../chains/start-chains.ts';
import { operatorOf } from '../cli/run-cli.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { loseSightOfPayment } from '../payments/support/lose-sight-of-payment.ts';
import { openRefundSite, paid, type RefundSite } from '../payments/refunds/refund-site.ts';
import { newPayment } from '../store/builders.ts';
import { createOperatorClient } from './operator-client.ts';
import type { PaymentState } from '../../src/rules/payments.ts';

type Client = Awaited<ReturnType<typeof createOperatorClient>>;

const base = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' };
const payer = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

const addPayment = async (store: Store, state: PaymentState, now = Date.now()): Promise<string> => {
  const identity =
    `${base.network}:${base.asset}:${payer}:0x${randomUUID().replaceAll('-', '')}`.toLowerCase();
  await store.reservePayment(newPayment({ identity, ...base, amount: 100_000n, now }));
  await store.advancePayment({
    identity,
    from: ['reserved'],
    to: state,
    set: {
      leaseOwner: null,
      leaseUntil: null,
      checkAt: null,
      result: '{"secret":"Müller"}',
      ...(state === 'delivered' ? { settledAt: now, payer, transaction: `0x${'ab'.repeat(32)}` } : {}),
    },
    now,
  });
  return identity;
};

const startOn = async (
  environment: Record<string, string>,
): Promise<{ gateway: TestGateway; client: Client }> => {
  const gateway = await startTestGateway({ environment });
  onTestFinished(() => gateway.stop());
  return { gateway, client: await createOperatorClient(gateway) };
};

const stores = [
  { kind: 'the embedded store', open: async () => ({}) },
  {
    kind: 'PostgreSQL',
    open: async () => {
      const database = await createTestDatabase();
      if (database === null) return null;
      onTestFinished(() => database.drop());
      return { DATABASE_URL: database.url };
    },
  },
];

describe.each(stores)('the payments of a gateway on $kind', ({ open }) => {
  it('are listed page by page, told of and summed up, as on the command line', async (context) => {
    const settings = await open();
    if (settings === null) return context.skip();
    const { gateway, client } = await startOn(settings);
    const { store } = gateway.services;
    const now = Date.now() - 10_000;
    const day = new Date(now).toISOString().slice(0, 10);
    const delivered = await addPayment(store, 'delivered', now);
    const unknown = await addPayment(store, 'unknown', now + 1_000);

    const first = await client.get('/payments?limit=1');
    expect(first).toMatchObject({ status: 200, body: { payments: [{ payment: unknown }], has_more: true } });
    const next = await client.get(`/payments?limit=1&before=${encodeURIComponent(unknown)}`);
    expect(next.body).toMatchObject({ payments: [{ payment: delivered, amount: '0.10' }], has_more: false });
    const filtered = await client.get('/payments?state=unknown&state=produced&network=base-sepolia');
    expect(filtered.body).toMatchObject({ payments: [{ payment: unknown }] });
    const stuck = await client.get('/payments?stuck=true');
    expect(stuck.body).toMatchObject({ payments: [{ payment: unknown }], refunds: [] });

    const shown = await client.get(`/payments/${encodeURIComponent(delivered)}`);
    expect(shown.body).toMatchObject({
      payment: { payment: delivered, result_bytes: 20 },
      refunds: [],
      happened: expect.stringContaining('The chain has the payment.'),
      advice: 'It can be refunded.',
    });
    expect(JSON.stringify(shown.body)).not.toMatch(/Müller|signature/);

    expect(await client.get('/payment-refunds?all=true&open=true')).toMatchObject({
      status: 422,
      body: { error: { message: 'Name a payment, or list the refunds of all payments; not both.' } },
    });

    const sums = await client.get(`/payments/sums?from=${day}&to=${day}`);
    expect(sums.body).toMatchObject({
      sums: [{ network: base.network, day, payments: 1, received_usd: '0.10' }],
      total: { payments: 1, net_usd: '0.10' },
      left_out: [],
    });
    const operator = operatorOf({ ...settings, DATA_DIR: gateway.dataDir }, { subject: 'payments' });
    const told = await operator.print('sums', '--from', day, '--to', day, '--json');
    expect(JSON.parse(told.stdout)).toEqual(sums.body);
  });
});

describe('the payments of a gateway', () => {
  it('refuse what no payment is, with the word that is wrong', async () => {
    const { gateway, client } = await startOn({});
    const { store } = gateway.services;
    await addPayment(store, 'delivered');
    await addPayment(store, 'delivered');
    const codes = async (path: string): Promise<unknown[]> => {
      const { status, body } = await client.get(path);
      const { code, param } = body['error'] as { code: string; param?: string };
      return [status, code, param];
    };
    expect(await codes('/payments/nothing-here')).toEqual([404, 'payment_not_found', undefined]);
    expect(await codes(`/payments/${base.network}`)).toEqual([409, 'payment_ambiguous', undefined]);
    expect(await codes('/payments?limit=2001')).toEqual([422, 'invalid_parameter', 'limit']);
    expect(await codes('/payments?network=moon')).toEqual([422, 'invalid_parameter', 'network']);
    expect(await codes('/payments?state=lost')).toEqual([422, 'invalid_parameter', 'state']);
    expect(await codes('/payments?statte=unknown')).toEqual([422, 'invalid_parameter', 'statte']);
    expect(await codes('/payments/sums?from=2026-02-30')).toEqual([422, 'invalid_parameter', 'from']);
    expect(await codes('/payments/sums?from=2026-10-02&to=2026-10-01')).toEqual([
      422,
      'invalid_parameter',
      'to',
    ]);
  });
});

describe('refunds over HTTP, on a local chain', () => {
  let chains: Chains;
  let site: RefundSite;
  beforeAll(async () => {
    chains = await startChains();
    site = await openRefundSite(chains, 'base');
  });
  afterAll(() => chains.stop());

  const start = () => startOn({ ...chains.environment, X402_EVM_REFUND_KEY: site.walletKey });

  it('are previewed, sent once however often they are asked for, and audited', async () => {
    const { gateway, client } = await start();
    const { store } = gateway.services;
    const payment = await site.addPayment(store);
    const path = `/payments/${encodeURIComponent(payment.identity)}`;
    const refund_id = randomUUID();
    const preview = await client.get(`${path}/refund-preview?refund_id=${refund_id}&amount=0.03`);
    expect(preview.body).toMatchObject({
      outcome: 'not_confirmed',
      amount_units: '30000',
      recipient: payment.payer,
      sender: site.walletAddress,
      cost: expect.stringMatching(/ ETH$/),
    });
    expect(await store.listRefunds({ payment: payment.identity, limit: 9 })).toEqual([]);

    const order = { refund_id, amount: '0.03', note: 'sorry' };
    const reader = await createOperatorClient(gateway, 'read');
    expect(await reader.post(`${path}/refunds`, order)).toMatchObject({
      status: 403,
      body: { error: { code: 'role_not_allowed' } },
    });
    const sent = await Promise.all([1, 2, 3].map(() => client.post(`${path}/refunds`, order)));
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await site.balanceOf(payment.payer)).toBe(30_000n);
    await site.makeFinal();
    const ended = await client.post(`${path}/refunds`, order);
    expect(ended.body).toMatchObject({ outcome: 'settled', refund: { amount: '0.03', note: 'sorry' } });
    expect(await site.balanceOf(payment.payer)).toBe(30_000n);
    const listed = await client.get(`/payment-refunds?payment=${encodeURIComponent(payment.identity)}`);
    expect(listed.body).toMatchObject({ refunds: [{ refund: refund_id, state: 'settled' }] });

    const tooMuch = await client.post(`${path}/refunds`, { refund_id: randomUUID(), amount: '0.08' });
    expect(tooMuch).toMatchObject({ status: 409, body: { error: { code: 'refund_too_large' } } });
    const rows = await store.listAudit({ limit: 10, operation: 'refund_payment' });
    expect(rows.map(({ outcome, error }) => [outcome, error])).toEqual([
      ['failed', 'refund_too_large'],
      ...Array.from({ length: 4 }, () => ['done', null]),
      ['failed', 'role_not_allowed'],
    ]);
  });

  it('that are planned are canceled once, and those of an operator on the command line are the same', async () => {
    const { gateway, client } = await start();
    const { store } = gateway.services;
    const payment = await site.addPayment(store);
    const planned = await site.plan(store, payment, 10_000n);
    const path = `/payment-refunds/${planned.id}/cancel`;
    expect((await client.post(path)).body).toMatchObject({ refund: { state: 'failed', reason: 'canceled' } });
    expect(await client.post(path)).toMatchObject({
      status: 409,
      body: { error: { code: 'refund_conflict' } },
    });
    const refund_id = randomUUID();
    const order = { refund_id, amount: '0.02' };
    const body = (await client.post(`/payments/${encodeURIComponent(payment.identity)}/refunds`, order)).body;
    expect(body).toMatchObject({ outcome: 'landed' });
    await site.makeFinal();
    const operator = operatorOf(
      { ...chains.environment, DATA_DIR: gateway.dataDir, X402_EVM_REFUND_KEY: site.walletKey },
      { subject: 'payments' },
    );
    const again = await operator.print(
      'refund',
      payment.identity,
      '--refund-id',
      refund_id,
      '--yes',
      '--json',
    );
    expect(JSON.parse(again.stdout)).toMatchObject({ outcome: 'settled', refund: { refund: refund_id } });
    expect(await site.balanceOf(payment.payer)).toBe(20_000n);
  });

  it('need the key of the wallet, which no answer shows', async () => {
    const { gateway, client } = await startOn(chains.environment);
    const payment = await site.addPayment(gateway.services.store);
    const answer = await client.post(`/payments/${encodeURIComponent(payment.identity)}/refunds`, {
      refund_id: randomUUID(),
    });
    expect(answer).toMatchObject({
      status: 409,
      body: { error: { code: 'invalid_setting', message: expect.stringContaining('X402_EVM_REFUND_KEY') } },
    });
    expect(await site.balanceOf(payment.payer)).toBe(0n);
  });

  it('that have landed are settled by a later look at the chain', async () => {
    const { gateway, client } = await start();
    const { store } = gateway.services;
    const payment = await site.addPayment(store);
    const refund_id = randomUUID();
    await client.post(`/payments/${encodeURIComponent(payment.identity)}/refunds`, { refund_id });
    expect(await site.balanceOf(payment.payer)).toBe(paid);
    expect((await client.post('/payments/reconcile')).body).toMatchObject({
      refunds: [{ refund: refund_id, outcome: 'landed' }],
    });
    await site.makeFinal();
    expect((await client.post('/payments/reconcile', { limit: 10 })).body).toMatchObject({
      examined: 0,
      refunds: [{ refund: refund_id, outcome: 'settled' }],
    });
  });

  it('settle the books for a payment whose outcome no node told, once the chain is asked', async () => {
    const { gateway, client } = await start();
    const { store } = gateway.services;
    const { payment: open, see } = await loseSightOfPayment(chains, store);
    const all = await client.post('/payments/reconcile');
    expect(all.body).toMatchObject({ examined: 1, left: 1, open: [{ payment: open.identity }] });
    const path = `/payments/${encodeURIComponent(open.identity)}/reconcile`;
    expect((await client.post(path)).body).toMatchObject({ state: 'unknown' });
    see();
    expect((await client.post(path)).body).toMatchObject({ payment: open.identity, state: 'settled' });
    expect(await store.getPayment(open.identity)).toMatchObject({ state: 'settled' });
  });
});
