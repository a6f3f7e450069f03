import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { privateKeyToAddress } from 'viem/accounts';
import { encodeBase58 } from '../../../src/payments/chains/solana/base58.ts';
import type { Store } from '../../../src/store/store.ts';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { loseSightOfPayment } from '../../payments/support/lose-sight-of-payment.ts';
import { openRefundSite, paid, type RefundSite } from '../../payments/refunds/refund-site.ts';
import { temporaryDataFolder, temporaryFolder } from '../run-cli.ts';
import {
  addPayment,
  addRefund,
  base,
  documents,
  openGateway,
  operatorOf,
  payer,
  type Operator,
} from './payment-operator.ts';

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
