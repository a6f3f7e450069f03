import { randomUUID } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { privateKeyToAddress } from 'viem/accounts';
import { z } from 'zod';
import { silentLog } from '../../../src/kit/log.ts';
import { getPayment, listPayments } from '../../../src/operator/payments/payments.ts';
import { reconcilePayments } from '../../../src/operator/payments/reconcile.ts';
import { cancelRefund, listRefunds, sendRefund } from '../../../src/operator/payments/refunds.ts';
import { encodeBase58 } from '../../../src/payments/chains/solana/base58.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { NewPayment, Payment, Store } from '../../../src/store/store.ts';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { loseSightOfPayment } from '../../payments/support/lose-sight-of-payment.ts';
import { openRefundSite, paid, type RefundSite } from '../../payments/refunds/refund-site.ts';
import { newPayment } from '../../store/builders.ts';
import { operatorOf as commandsOf, temporaryDataFolder, temporaryFolder } from '../run-cli.ts';
import { createTestDatabase } from '../test-database.ts';
import type { PaymentState } from '../../../src/rules/payments.ts';

const base = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' };
const bnb = { network: 'eip155:56', asset: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d' };
const payer = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const minute = 60_000;

const documents = {
  list: listPayments.output,
  shown: getPayment.output,
  refunds: listRefunds.output,
  refundEnd: sendRefund.output,
  canceled: cancelRefund.output,
  reconciled: reconcilePayments.output,
  exported: z.strictObject({ file: z.string(), payments: z.int() }),
};

const operatorOf = (environment: Record<string, string>) => commandsOf(environment, { subject: 'payments' });

type Operator = ReturnType<typeof operatorOf>;

const hex = (length: number): string => `0x${randomUUID().replaceAll('-', '').repeat(2).slice(0, length)}`;

const addPayment = async (
  store: Store,
  state: PaymentState,
  {
    set,
    now = Date.now(),
    ...payment
  }: Partial<NewPayment> & { set?: Parameters<Store['advancePayment']>[0]['set'] } = {},
): Promise<Payment> => {
  const network = { ...base, amount: 100_000n, ...payment };
  const identity = `${network.network}:${network.asset}:${payer}:${hex(64)}`.toLowerCase();
  const reserved = newPayment({ identity, ...network, now });
  await store.reservePayment(reserved);
  const isSettled = state === 'settled' || state === 'delivered';
  const moved = await store.advancePayment({
    identity: reserved.identity,
    from: ['reserved'],
    to: state,
    set: {
      leaseOwner: null,
      leaseUntil: null,
      checkAt: null,
      ...(isSettled ? { settledAt: now, payer, transaction: hex(64) } : {}),
      ...set,
    },
    now,
  });
  if (moved === null) throw new Error('the payment did not move');
  return moved;
};

const addRefund = async (
  store: Store,
  payment: Payment,
  amount: bigint,
  now = Date.now(),
): Promise<string> => {
  const id = randomUUID();
  await store.planRefund({ id, payment: payment.identity, amount, note: '=1+1', acceptsUnknown: false, now });
  return id;
};

const settleRefund = async (store: Store, id: string, now = Date.now()): Promise<string> => {
  const transaction = hex(64);
  const sent = { sender: payer, transaction, rawTransaction: '0xsecretraw' };
  await store.advanceRefund({ id, from: ['planned'], to: 'sending', set: sent, now });
  await store.advanceRefund({ id, from: ['sending'], to: 'settled', now });
  return transaction;
};

const identitiesOf = ({ payments }: { payments: { payment: string }[] }): string[] =>
  payments.map(({ payment }) => payment);

const identitiesOfRows = (payments: Payment[]): string[] => payments.map(({ identity }) => identity);

const stores = [
  {
    kind: 'the embedded store',
    open: async () => ({ DATA_DIR: await temporaryDataFolder() }),
  },
  {
    kind: 'PostgreSQL',
    open: async () => {
      const database = await createTestDatabase();
      if (database === null) return null;
      onTestFinished(() => database.drop());
      return { DATABASE_URL: database.url, DATA_DIR: await temporaryFolder() };
    },
  },
];

const openGateway = async (env: { DATABASE_URL?: string; DATA_DIR: string }): Promise<Store> => {
  const store = await openStore(
    { databaseUrl: env.DATABASE_URL ?? null, dataDir: env.DATA_DIR },
    { log: silentLog },
  );
  onTestFinished(() => store.close());
  return store;
};

const embedded = async (): Promise<{ store: Store; operator: Operator; dataDir: string }> => {
  const dataDir = await temporaryDataFolder();
  const store = await openGateway({ DATA_DIR: dataDir });
  return { store, operator: operatorOf({ DATA_DIR: dataDir }), dataDir };
};

describe.each(stores)('on $kind', ({ open }) => {
  it('payments are listed, found and told of, with what is stuck', async (context) => {
    const env = await open();
    if (env === null) {
      context.skip();
      return;
    }
    const store = await openGateway(env);
    const operator = operatorOf({ ...env });
    const now = Date.now();
    const delivered = await addPayment(store, 'delivered', { now: now - 5_000, set: {} });
    const unknown = await addPayment(store, 'unknown', {
      now: now - 4_000,
      set: { reason: 'not_confirmed' },
    });
    const young = await addPayment(store, 'broadcasting', { now: now - 3_000 });
    const old = await addPayment(store, 'produced', {
      ...bnb,
      amount: 10n ** 17n,
      now: now - 16 * minute,
      set: { result: '{"secret":"Müller"}' },
    });
    const open_ = await addRefund(store, delivered, 30_000n);

    const all = await operator.answer(documents.list, 'list');
    expect(identitiesOf(all)).toEqual([young, unknown, delivered, old].map(({ identity }) => identity));
    expect(all.payments.map(({ amount }) => amount)).toEqual(['0.10', '0.10', '0.10', '0.10']);
    const page = await operator.answer(documents.list, 'list', '--limit', '2');
    expect([identitiesOf(page), page.has_more]).toEqual([[young.identity, unknown.identity], true]);
    const onBnb = await operator.answer(documents.list, 'list', '--network', 'bsc');
    expect([identitiesOf(onBnb), onBnb.has_more]).toEqual([[old.identity], false]);
    const inStates = await operator.answer(documents.list, 'list', '--state', 'unknown', 'delivered');
    expect(identitiesOf(inStates)).toEqual([unknown.identity, delivered.identity]);
    const stuck = await operator.answer(documents.list, 'list', '--stuck');
    expect(identitiesOf(stuck)).toEqual([unknown.identity, old.identity]);
    expect(stuck.refunds).toMatchObject([{ refund: open_, state: 'planned', amount: '0.03' }]);

    for (const name of [
      delivered.identity,
      delivered.identity.toUpperCase(),
      delivered.identity.slice(0, -3),
      delivered.identity.split(':').at(-1)?.slice(0, 12) ?? '',
      delivered.transaction ?? '',
      delivered.transaction?.slice(0, 12) ?? '',
    ]) {
      const shown = await operator.answer(documents.shown, 'show', name);
      expect(shown.payment.payment).toBe(delivered.identity);
      expect(shown.refunds).toMatchObject([{ refund: open_ }]);
    }
    const shown = await operator.answer(documents.shown, 'show', old.identity);
    expect(shown).toMatchObject({ payment: { result_bytes: 20, state: 'produced' }, refunds: [] });
    const text = await operator.print('show', old.identity);
    expect(text.stdout).toContain('20 bytes');
    expect(text.stdout + JSON.stringify(shown)).not.toMatch(/Müller|"nonce"|signature/);
    expect(await operator.refusal('show', base.network)).toMatchObject({ code: 'payment_ambiguous' });
    expect(await operator.refusal('show', 'nothing')).toMatchObject({
      code: 'payment_not_found',
      exitCode: 1,
    });
    expect(await operator.refusal('show', '0x')).toMatchObject({ code: 'payment_not_found' });
    const planned = await operator.answer(documents.refunds, 'refunds');
    expect(planned.refunds).toMatchObject([{ refund: open_, note: '=1+1' }]);

    await operator.answer(documents.canceled, 'cancel-refund', open_);
    expect(await operator.refusal('cancel-refund', open_)).toMatchObject({ code: 'refund_conflict' });
    expect(await operator.refusal('cancel-refund', randomUUID())).toMatchObject({ code: 'refund_not_found' });
    expect((await operator.answer(documents.refunds, 'refunds')).refunds).toEqual([]);
    const ended = await operator.answer(documents.refunds, 'refunds', delivered.identity);
    expect(ended.refunds).toMatchObject([{ state: 'failed', reason: 'canceled' }]);
    const stillOpen = await operator.answer(documents.refunds, 'refunds', delivered.identity, '--open');
    expect(stillOpen.refunds).toEqual([]);
  });
});

describe('a long list', () => {
  it('is had page by page, of a network and of what is stuck too', async () => {
    const { store, operator } = await embedded();
    const now = Date.now();
    const added: Payment[] = [];
    for (let index = 0; index < 7; index += 1)
      added.push(
        await addPayment(store, index % 2 === 0 ? 'unknown' : 'broadcasting', {
          ...(index < 3 ? bnb : base),
          now: now - 60 * minute - index,
        }),
      );
    const all = identitiesOfRows(added);
    const walk = async (...args: string[]): Promise<string[]> => {
      const seen: string[] = [];
      for (;;) {
        const last = seen.at(-1);
        const page = await operator.answer(
          documents.list,
          'list',
          '--limit',
          '2',
          ...args,
          ...(last === undefined ? [] : ['--before', last]),
        );
        seen.push(...identitiesOf(page));
        if (!page.has_more) return seen;
      }
    };
    expect(await walk()).toEqual(all);
    expect(await walk('--stuck')).toEqual(all);
    expect(await walk('--network', 'bsc')).toEqual(all.slice(0, 3));
    expect(await walk('--stuck', '--state', 'broadcasting', '--network', 'base-sepolia')).toEqual(
      [added[3], added[5]].map((payment) => payment?.identity),
    );
    expect(await operator.refusal('list', '--before', 'nothing')).toMatchObject({
      code: 'payment_not_found',
    });
    const { stderr } = await operator.print('list', '--limit', '2');
    expect(stderr).toContain(`--before ${all[1]}`);
  });

  it('is whole, where it is longer than what is read at once', async () => {
    const { store, operator } = await embedded();
    const old = await addPayment(store, 'delivered', { ...bnb, now: Date.now() - minute });
    await Promise.all(Array.from({ length: 201 }, () => addPayment(store, 'delivered')));
    const listed = await operator.answer(documents.list, 'list', '--limit', '202');
    expect(new Set(identitiesOf(listed)).size).toBe(202);
    expect([listed.payments.at(-1)?.payment, listed.has_more]).toEqual([old.identity, false]);
    const shorter = await operator.answer(documents.list, 'list', '--limit', '201');
    expect([shorter.payments.length, shorter.has_more]).toEqual([201, true]);
  });

  it('of all refunds goes from the newest to the oldest, whatever became of them', async () => {
    const { store, operator } = await embedded();
    const now = Date.now();
    const payment = await addPayment(store, 'delivered');
    const [first, second, third] = [
      await addRefund(store, await addPayment(store, 'delivered'), 1n, now - 3),
      await addRefund(store, payment, 1n, now - 2),
      await addRefund(store, await addPayment(store, 'delivered'), 1n, now - 1),
    ];
    await settleRefund(store, second);
    const list = async (...args: string[]) => {
      const { refunds, has_more } = await operator.answer(documents.refunds, 'refunds', ...args);
      return [refunds.map(({ refund }) => refund), has_more];
    };
    expect(await list('--all')).toEqual([[third, second, first], false]);
    expect(await list('--all', '--limit', '2')).toEqual([[third, second], true]);
    expect(await list('--before', second)).toEqual([[first], false]);
    expect(await list()).toEqual([[first, third], false]);
    const { stderr } = await operator.print('refunds', '--all', '--limit', '2');
    expect(stderr).toContain(`--before ${second}`);
    expect(await operator.refusal('refunds', '--before', randomUUID())).toMatchObject({
      code: 'refund_not_found',
    });
    for (const args of [
      ['--all', '--open'],
      [payment.identity, '--all'],
      [payment.identity, '--before', second],
    ])
      expect(await operator.refusal('refunds', ...args)).toMatchObject({
        code: 'invalid_usage',
        exitCode: 2,
      });
  });
});

describe('the refunds of a payment', () => {
  it('without an end are found behind any number of others', async () => {
    const { store, operator } = await embedded();
    const payment = await addPayment(store, 'delivered');
    await settleRefund(store, await addRefund(store, payment, 1n));
    await settleRefund(store, await addRefund(store, payment, 1n));
    const open = await addRefund(store, payment, 1n);
    const args = ['refunds', payment.identity, '--open', '--limit', '1'];
    const listed = await operator.answer(documents.refunds, ...args);
    expect([listed.refunds.map(({ refund }) => refund), listed.has_more]).toEqual([[open], false]);
  });
});

describe('a payment is named', () => {
  it('by its whole nonce, though another one’s begins with it', async () => {
    const { store, operator } = await embedded();
    const prefix = `${bnb.network}:0xpermit2:${payer}:`.toLowerCase();
    for (const nonce of ['12345678', '123456789'])
      await store.reservePayment(newPayment({ ...bnb, identity: `${prefix}${nonce}` }));
    const shown = await operator.answer(documents.shown, 'show', '12345678');
    expect(shown.payment.payment).toBe(`${prefix}12345678`);
    expect(await operator.refusal('show', '1234567')).toMatchObject({ code: 'payment_ambiguous' });
  });

  it('by its transaction in either case, unless that moved others, too', async () => {
    const { store, operator } = await embedded();
    const transaction = `0x${'Ab'.repeat(32)}`;
    const { identity } = await addPayment(store, 'delivered', { set: { transaction } });
    for (const name of [transaction, transaction.toLowerCase(), transaction.toUpperCase()])
      expect((await operator.answer(documents.shown, 'show', name)).payment.payment).toBe(identity);
    const other = await addPayment(store, 'delivered', { set: { transaction: transaction.toLowerCase() } });
    const refusal = await operator.refusal('show', transaction);
    expect(refusal.code).toBe('payment_ambiguous');
    expect(refusal.message).toContain(identity);
    expect(refusal.message).toContain(other.identity);
  });
});

describe('every state', () => {
  it.each([
    ['reserved', /Nothing was charged/],
    ['verified', /Nothing was charged/],
    ['produced', /not charged for yet/],
    ['broadcasting', /may have been sent/],
    ['unknown', /may have been charged.*strange_reason/],
    ['settled', /chain has the payment/],
    ['delivered', /buyer was answered/],
    ['rejected', /refused \(strange_reason\)/],
    ['failed', /proven that the buyer was not charged/],
  ] as const)('is told in words: %s', async (state, words) => {
    const { store, operator } = await embedded();
    const { identity } = await addPayment(store, state, { set: { reason: 'strange_reason' } });
    const { happened, advice } = await operator.answer(documents.shown, 'show', identity);
    expect(happened).toMatch(words);
    expect(advice).toMatch(/\.$|"\.$/);
  });
});

describe('sums', () => {
  const day = (text: string): number => Date.parse(`${text}T12:00:00Z`);

  it('are exact, by network and day, with totals of tokens of 6 and of 18 decimals', async () => {
    const { store, operator } = await embedded();
    await addPayment(store, 'delivered', { amount: 100_001n, now: day('2026-10-01') });
    const given = await addPayment(store, 'settled', { amount: 300_000n, now: day('2026-10-31') });
    await addPayment(store, 'delivered', { ...bnb, amount: 10n ** 17n + 1n, now: day('2026-10-31') });
    await addPayment(store, 'delivered', { amount: 7n, now: day('2026-11-01') });
    await addPayment(store, 'unknown', { amount: 7n, now: day('2026-10-31') });
    await settleRefund(store, await addRefund(store, given, 50_000n), day('2026-10-31'));
    const sums = await operator.answer(z.unknown(), 'sums', '--from', '2026-10-01', '--to', '2026-10-31');
    expect(sums).toMatchObject({
      from: '2026-10-01',
      to: '2026-10-31',
      sums: [
        { network: bnb.network, day: '2026-10-31', received_usd: '0.100000000000000001', payments: 1 },
        { network: base.network, day: '2026-10-01', received_usd: '0.100001', refunded_usd: '0.00' },
        {
          network: base.network,
          day: '2026-10-31',
          received_usd: '0.30',
          refunded_usd: '0.05',
          net_usd: '0.25',
        },
      ],
      by_network: [
        { network: bnb.network, net_usd: '0.100000000000000001' },
        { network: base.network, received_usd: '0.400001', refunds: 1, net_usd: '0.350001' },
      ],
      total: {
        payments: 3,
        received_usd: '0.500001000000000001',
        refunded_usd: '0.05',
        net_usd: '0.450001000000000001',
      },
    });
    const { stdout } = await operator.print('sums', '--from', '2026-10-01', '--to', '2026-10-31');
    expect(stdout).toContain('all networks');
    expect(stdout).toContain('0.450001000000000001');
  });

  it('leave out a token of unknown worth, and say so', async () => {
    const { store, operator } = await embedded();
    await addPayment(store, 'delivered', { asset: '0xother', amount: 5n });
    await addPayment(store, 'delivered');
    const { stdout, stderr } = await operator.print('sums');
    expect(stdout).toMatch(/all networks\s+all days\s+1\s+0\.10/);
    expect(stdout).toContain('5 units');
    expect(stderr).toContain('leave out 1 row');
    const told = await operator.print('sums', '--json');
    expect(told.exitCode).toBe(1);
    expect(JSON.parse(told.stdout)).toMatchObject({
      total: { payments: 1 },
      left_out: [{ asset: '0xother', payments: 1, received_units: '5' }],
    });
  });

  it.each([
    [['--from', '2026-02-30'], 'must be a day'],
    [['--to', 'yesterday'], 'must be a day'],
    [['--from', '2026-10-02', '--to', '2026-10-01'], 'before the first'],
  ])('of days such as %j are refused', async (args, message) => {
    const { operator } = await embedded();
    const refusal = await operator.refusal('sums', ...args);
    expect([refusal.exitCode, refusal.code]).toEqual([2, 'invalid_usage']);
    expect(refusal.message).toContain(message);
  });
});

describe('an export', () => {
  it('has every settled payment once over many pages, oldest first, and what was given back', async () => {
    const { store, operator, dataDir } = await embedded();
    const now = Date.now();
    // Two settle in each millisecond, so that pages end between equals.
    const payments = [];
    for (let index = 0; index < 230; index += 1)
      payments.push(await addPayment(store, 'delivered', { now: now + Math.floor(index / 2) }));
    const [first] = payments;
    const transactions = [
      await settleRefund(store, await addRefund(store, first!, 10_000n)),
      await settleRefund(store, await addRefund(store, first!, 20_000n)),
    ];
    await addRefund(store, first!, 30_000n);
    const output = join(dataDir, 'payments.csv');
    const exported = await operator.answer(documents.exported, 'export', '--output', output);
    expect(exported).toEqual({ file: output, payments: 230 });
    const text = await readFile(output, 'utf8');
    const [header, ...lines] = text.split('\r\n');
    expect(header).toBe(
      'settled_at,network,asset,amount,payer,pay_to,transaction,state,refunded,refund_transactions,payment',
    );
    expect(lines.pop()).toBe('');
    const identities = lines.map((line) => line.split(',').at(-1));
    expect(new Set(identities)).toEqual(new Set(payments.map(({ identity }) => identity)));
    expect(identities).toHaveLength(230);
    const times = lines.map((line) => Date.parse(line.split(',')[0] ?? ''));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const ofFirst = lines.find((line) => line.endsWith(first!.identity))?.split(',');
    expect(ofFirst?.slice(1, 4)).toEqual([base.network, base.asset, '0.10']);
    expect(ofFirst?.[8]).toBe('0.03');
    expect(ofFirst?.[9]?.split(' ').toSorted()).toEqual(transactions.toSorted());
    expect((await stat(output)).mode & 0o777).toBe(0o600);
    const printed = await operator.print('export');
    expect([printed.exitCode, printed.stdout]).toEqual([0, text]);
  });

  it('never writes over a file, and leaves no part of one behind', async () => {
    const { store, operator, dataDir } = await embedded();
    await addPayment(store, 'delivered');
    const output = join(dataDir, 'mine.csv');
    await writeFile(output, 'mine');
    expect(await operator.refusal('export', '--output', output)).toMatchObject({
      code: 'file_exists',
      exitCode: 1,
    });
    expect(await readFile(output, 'utf8')).toBe('mine');
    expect(await operator.refusal('export', '--output', join(dataDir, 'no/such.csv'))).toMatchObject({
      code: 'file_failed',
    });
    expect(await operator.refusal('export')).toMatchObject({ code: 'invalid_usage', exitCode: 2 });
    expect((await readdir(dataDir)).filter((name) => name.includes('.csv'))).toEqual(['mine.csv']);
  });

  it('quotes what CSV and spreadsheets would take for something else', async () => {
    const { store, operator } = await embedded();
    await addPayment(store, 'delivered', {
      payTo: 'a "wallet", of\nours',
      set: { payer: '=HYPERLINK("http://example.com")' },
    });
    const { stdout } = await operator.print('export');
    expect(stdout).toContain(`"'=HYPERLINK(""http://example.com"")","a ""wallet"", of\nours",`);
  });
});

describe('on local chains', () => {
  let chains: Chains;
  let site: RefundSite;
  let store: Store;
  let operator: Operator;
  let environment: Record<string, string>;
  beforeAll(async () => {
    chains = await startChains();
  });
  afterAll(() => chains.stop());
  beforeEach(async () => {
    site = await openRefundSite(chains, 'base');
    const dataDir = await temporaryDataFolder();
    store = await openGateway({ DATA_DIR: dataDir });
    environment = { ...chains.environment, DATA_DIR: dataDir, X402_EVM_REFUND_KEY: site.walletKey };
    operator = operatorOf(environment);
  });
  afterEach(() => chains.base.controls.clearFaults());

  it('a payment whose end the gateway never learnt is reconciled with the chain', async () => {
    const { payment: open, see } = await loseSightOfPayment(chains, store);
    const told = await operator.print('reconcile', '--json');
    expect(told.exitCode).toBe(1);
    expect(documents.reconciled.parse(JSON.parse(told.stdout))).toMatchObject({
      examined: 1,
      resolved: 0,
      left: 1,
      open: [{ payment: open.identity, state: 'unknown', reason: open.reason }],
    });
    const one = await operator.print('reconcile', open.identity);
    expect([one.exitCode, one.stdout]).toEqual([1, `The payment is unknown (${open.reason}).\n`]);
    see();
    expect(await operator.answer(documents.reconciled, 'reconcile')).toEqual({
      examined: 1,
      resolved: 1,
      left: 0,
      in_progress: 0,
      not_configured: {},
      open: [],
      refunds: [],
    });
    expect(await store.getPayment(open.identity)).toMatchObject({ state: 'settled' });
  });

  it('payments on networks that are not configured are left as they are, and no wallet is made', async () => {
    const elsewhere = { network: 'eip155:8453', asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' };
    const sent = await addPayment(store, 'broadcasting', { ...elsewhere, set: { payer } });
    const dataDir = environment.DATA_DIR ?? '';
    const bare = operatorOf({ DATA_DIR: dataDir });
    const told = await bare.print('reconcile');
    expect(told.exitCode).toBe(0);
    expect(told.stderr).toContain('X402_NETWORKS does not name their networks: 1 on eip155:8453');
    expect(await bare.refusal('reconcile', sent.identity)).toMatchObject({
      code: 'network_not_configured',
      exitCode: 1,
    });
    expect(await store.getPayment(sent.identity)).toEqual(sent);
    expect(await readdir(dataDir)).not.toContain('wallets.json');
  });

  it('a refund that has landed is called settled by a later look, which needs no key', async () => {
    const payment = await site.addPayment(store);
    const sent = await operator.answer(documents.refundEnd, 'refund', payment.identity, '--yes');
    expect(sent).toMatchObject({ outcome: 'landed', refund: { state: 'sending' } });
    const { X402_EVM_REFUND_KEY: _key, ...keyless } = environment;
    const looking = operatorOf(keyless);
    const refund = sent.refund.refund;
    const look = async () => (await looking.answer(documents.reconciled, 'reconcile')).refunds;
    expect(await look()).toEqual([{ refund, outcome: 'landed', reason: null }]);
    await site.makeFinal();
    expect(await look()).toEqual([{ refund, outcome: 'settled', reason: null }]);
    expect(await look()).toEqual([]);
    expect(await store.getRefund(refund)).toMatchObject({ state: 'settled' });
  });

  it('a refund is only described without --yes, and then made, within what was paid', async () => {
    const payment = await site.addPayment(store);
    const asked = await operator.print('refund', payment.identity, '--amount', '0.03');
    expect(asked.exitCode).toBe(2);
    expect(asked.stdout).toMatch(
      new RegExp(
        `would send 0\\.03 USDC to ${payment.payer}, from ${site.walletAddress}.*at most 0\\.\\d+ ETH`,
      ),
    );
    expect(await store.listRefunds({ payment: payment.identity, limit: 9 })).toEqual([]);
    const first = await operator.answer(
      documents.refundEnd,
      'refund',
      payment.identity,
      '--amount',
      '0.03',
      '--yes',
      '--note',
      'sorry',
    );
    expect(first).toMatchObject({ outcome: 'landed', refund: { amount: '0.03', note: 'sorry' } });
    expect(await operator.refusal('refund', payment.identity, '--yes')).toMatchObject({
      code: 'refund_open',
    });
    await site.makeFinal();
    expect(
      await operator.answer(
        documents.refundEnd,
        'refund',
        payment.identity,
        '--refund-id',
        first.refund.refund,
        '--yes',
      ),
    ).toMatchObject({ outcome: 'settled' });
    expect(await operator.refusal('refund', payment.identity, '--amount', '0.08', '--yes')).toMatchObject({
      code: 'refund_too_large',
      exitCode: 1,
      message: expect.stringContaining('0.07 USDC'),
    });
    const rest = await operator.answer(documents.refundEnd, 'refund', payment.identity, '--yes');
    expect(rest.refund.amount).toBe('0.07');
    expect(await site.balanceOf(payment.payer)).toBe(paid);
    const shown = await operator.answer(documents.shown, 'show', payment.identity);
    expect(shown.refunds.map(({ amount, state }) => [amount, state])).toEqual([
      ['0.03', 'settled'],
      ['0.07', 'sending'],
    ]);
  });

  it('a second refund waits for the end of the first', async () => {
    const payment = await site.addPayment(store);
    const open = await addRefund(store, payment, 10_000n);
    const refusal = await operator.refusal('refund', payment.identity, '--amount', '0.01', '--yes');
    expect(refusal.code).toBe('refund_open');
    expect(refusal.message).toContain(`is still open: ${open}, of 0.01 USDC.`);
    const end = await operator.answer(
      documents.refundEnd,
      'refund',
      payment.identity,
      '--refund-id',
      open,
      '--yes',
    );
    expect(end).toMatchObject({ outcome: 'landed', refund: { refund: open, amount: '0.01' } });
  });

  it('two operators who give back the same half at the same moment give it back once', async () => {
    const payment = await site.addPayment(store);
    const run = () => operator.print('refund', payment.identity, '--amount', '0.05', '--yes', '--json');
    const ended = await Promise.all([run(), run()]);
    expect(ended.map(({ exitCode }) => String(exitCode)).toSorted()).toEqual(['0', '1']);
    expect(ended.map(({ stdout }) => stdout).join()).toContain('"refund_open"');
    expect(await site.balanceOf(payment.payer)).toBe(50_000n);
  });

  it('a planned refund is not sent when its payment turned out not to be on the chain', async () => {
    const payment = await site.addPayment(store);
    const planned = await addRefund(store, payment, 10_000n);
    await store.advancePayment({
      identity: payment.identity,
      from: ['delivered'],
      to: 'unknown',
      set: { reason: 'gone_from_chain', settledAt: null },
      now: Date.now(),
    });
    for (const more of [[], ['--unknown']]) {
      const args = ['refund', payment.identity, '--refund-id', planned, '--yes', ...more];
      expect(await operator.refusal(...args)).toMatchObject({
        code: 'payment_not_settled',
        message: expect.stringContaining(`Refund ${planned} is planned`),
      });
    }
    expect(await site.balanceOf(payment.payer)).toBe(0n);
  });

  it('a payment of unknown outcome whose transaction nobody knows is given back once, and to its end', async () => {
    const known = await site.addPayment(store);
    await store.advancePayment({
      identity: known.identity,
      from: ['delivered'],
      to: 'unknown',
      set: { transaction: null, settledAt: null },
      now: Date.now(),
    });
    const first = await operator.print('refund', known.identity, '--unknown', '--yes');
    expect([first.exitCode, first.stdout]).toEqual([0, expect.stringContaining('it has landed')]);
    const words =
      /interrupted, repeat it: causeway payments (.*)$/m.exec(first.stderr)?.[1]?.split(' ') ?? [];
    expect(words).toContain('--unknown');
    await site.makeFinal();
    expect(await operator.answer(documents.refundEnd, ...words)).toMatchObject({ outcome: 'settled' });
    expect(await site.balanceOf(known.payer)).toBe(paid);
  });

  it('a payer that is not who signed is sent nothing', async () => {
    const payment = await site.addPayment(store);
    await store.advancePayment({
      identity: payment.identity,
      from: ['delivered'],
      to: 'delivered',
      set: { payer },
      now: Date.now(),
    });
    expect(await operator.refusal('refund', payment.identity, '--yes')).toMatchObject({
      code: 'refund_not_possible',
      message: expect.stringContaining('another wallet signed'),
    });
    expect(await store.listRefunds({ payment: payment.identity, limit: 9 })).toEqual([]);
  });

  it.each([
    [
      'above the order of the curve',
      `0x${'f'.repeat(64)}`,
      /^causeway: X402_EVM_REFUND_KEY: it is no private key.*\n$/,
    ],
    ['zero', `0x${'0'.repeat(64)}`, /^causeway: X402_EVM_REFUND_KEY: it is no private key.*\n$/],
    ['too short', `0x${'1'.repeat(63)}`, /^causeway: X402_EVM_REFUND_KEY\b.*\n$/],
  ])('a key that is %s is refused by its name, and never shown', async (_, key, problem) => {
    const payment = await site.addPayment(store);
    const wrong = operatorOf({ ...environment, X402_EVM_REFUND_KEY: key });
    const told = await wrong.print('refund', payment.identity, '--yes');
    expect([told.exitCode, told.stdout]).toEqual([2, '']);
    expect(told.stderr).toMatch(problem);
    expect(told.stderr).not.toContain(key.slice(2, 20));
  });

  it('a Solana key whose halves do not belong together is refused by its name, and never shown', async () => {
    const payment = await (await openRefundSite(chains, 'solana')).addPayment(store);
    const key = encodeBase58(Buffer.concat([Buffer.alloc(32, 7), Buffer.alloc(32, 9)]));
    const wrong = operatorOf({ ...environment, X402_SOLANA_REFUND_KEY: key });
    const told = await wrong.print('refund', payment.identity, '--yes');
    expect([told.exitCode, told.stdout]).toEqual([2, '']);
    expect(told.stderr).toMatch(/^causeway: X402_SOLANA_REFUND_KEY: its two halves.*\n$/);
    expect(told.stderr).not.toContain(key.slice(0, 20));
  });

  it('an id that belongs to another refund is refused', async () => {
    const [one, other] = [await site.addPayment(store), await site.addPayment(store)];
    const open = await addRefund(store, one, 10_000n);
    for (const args of [
      [other.identity, '--refund-id', open],
      [one.identity, '--refund-id', open, '--amount', '0.02'],
    ])
      expect(await operator.refusal('refund', ...args, '--yes')).toMatchObject({ code: 'refund_conflict' });
    expect(await site.balanceOf(one.payer)).toBe(0n);
  });

  it.each(['unknown', 'failed', 'produced'] as const)(
    'a payment that is %s is not given back',
    async (state) => {
      const { identity } = await addPayment(store, state, { set: { payer } });
      expect(await operator.refusal('refund', identity, '--yes')).toMatchObject({
        code: 'payment_not_settled',
        exitCode: 1,
      });
      expect(await store.listRefunds({ payment: identity, limit: 9 })).toEqual([]);
    },
  );

  it.each(['0', '-1', '0.0000001', '1e3', 'all'])('an amount such as %s is refused', async (amount) => {
    const { identity } = await site.addPayment(store);
    expect(await operator.refusal('refund', identity, `--amount=${amount}`, '--yes')).toMatchObject({
      code: 'invalid_usage',
      exitCode: 2,
    });
  });

  it('a wallet with too little says what is missing, and nothing is written down', async () => {
    const payment = await site.addPayment(store);
    const poor = operatorOf({ ...environment, X402_EVM_REFUND_KEY: `0x${'7'.repeat(64)}` });
    expect(await poor.refusal('refund', payment.identity, '--yes')).toMatchObject({
      code: 'refund_not_possible',
      message: expect.stringMatching(/has 0\.00 USDC, and 0\.10 USDC are needed: 0\.10 USDC are missing/),
    });
    await chains.base.mint(privateKeyToAddress(`0x${'7'.repeat(64)}`), paid);
    expect(await poor.refusal('refund', payment.identity, '--yes')).toMatchObject({
      code: 'refund_not_possible',
      message: expect.stringMatching(/has 0\.00 ETH for fees, and may need 0\.0\d+ ETH/),
    });
    expect(await store.listRefunds({ payment: payment.identity, limit: 9 })).toEqual([]);
  });

  it('the key of the wallet may stand in a file that is private', async () => {
    const payment = await site.addPayment(store);
    const { X402_EVM_REFUND_KEY: key = '', ...keyless } = environment;
    const file = join(await temporaryFolder(), 'key');
    await writeFile(file, `${key}\n`, { mode: 0o600 });
    const withFile = operatorOf({ ...keyless, X402_EVM_REFUND_KEY_FILE: file });
    const end = await withFile.answer(documents.refundEnd, 'refund', payment.identity, '--yes');
    expect(end).toMatchObject({ outcome: 'landed', refund: { sender: site.walletAddress } });
  });

  it('a token of the configuration is shown and given back by its own decimals', async () => {
    const payment = await site.addPayment(store);
    const file = join(await temporaryFolder(), 'causeway.yaml');
    await writeFile(
      file,
      `x402:
  networks:
    ${base.network}:
      asset: { symbol: EURX, address: '${base.asset}', decimals: 4, eip712: { name: X, version: '1' } }
`,
    );
    const configured = operatorOf({ ...environment, CAUSEWAY_CONFIG: file });
    const shown = await configured.print('show', payment.identity);
    expect(shown.stdout).toContain('10.00 EURX');
    const end = await configured.answer(
      documents.refundEnd,
      'refund',
      payment.identity,
      '--amount',
      '9.99',
      '--yes',
    );
    expect(end.refund.amount_units).toBe('99900');
    expect(await site.balanceOf(payment.payer)).toBe(99_900n);
  });

  it('payments are looked at while another setting is wrong', async () => {
    const { identity } = await site.addPayment(store);
    const broken = operatorOf({ ...environment, PORT: 'many' });
    expect((await broken.answer(documents.shown, 'show', identity)).payment.amount).toBe('0.10');
    expect(await broken.refusal('refund', identity, '--yes')).toMatchObject({
      code: 'invalid_setting',
      exitCode: 2,
    });
  });

  it('without a key, on another chain, or on a network that is not configured, nothing is sent', async () => {
    const payment = await site.addPayment(store);
    const { X402_EVM_REFUND_KEY: _key, ...keyless } = environment;
    expect(await operatorOf(keyless).refusal('refund', payment.identity, '--yes')).toMatchObject({
      code: 'invalid_setting',
      message: expect.stringContaining('X402_EVM_REFUND_KEY: must be set (or X402_EVM_REFUND_KEY_FILE)'),
    });
    const elsewhere = {
      ...environment,
      X402_NETWORKS: 'eip155:11155111',
    };
    expect(await operatorOf(elsewhere).refusal('refund', payment.identity, '--yes')).toMatchObject({
      code: 'network_not_configured',
    });
    const other = await addPayment(store, 'delivered', {
      network: 'eip155:11155111',
      asset: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
    });
    expect(await operatorOf(elsewhere).refusal('refund', other.identity, '--yes')).toMatchObject({
      code: 'refund_not_possible',
      message: expect.stringContaining('serves eip155:84532'),
    });
    const strange = await addPayment(store, 'delivered', { asset: '0xother' });
    expect(await operator.refusal('refund', strange.identity, '--yes')).toMatchObject({
      code: 'refund_not_possible',
    });
    expect(await site.balanceOf(payment.payer)).toBe(0n);
  });

  it('a node that does not answer postpones the refund, before anything is written down', async () => {
    const payment = await site.addPayment(store);
    chains.base.controls.inject({ fault: 'unavailable', methods: ['eth_chainId'] });
    expect(await operator.refusal('refund', payment.identity, '--yes')).toMatchObject({
      code: 'chain_unavailable',
      exitCode: 1,
    });
    expect(await store.listRefunds({ payment: payment.identity, limit: 9 })).toEqual([]);
  });
});
