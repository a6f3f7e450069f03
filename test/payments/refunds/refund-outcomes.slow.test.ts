import { createTestClient, encodeFunctionData, http, parseAbi, publicActions, walletActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { PaymentRefund, Store } from '../../../src/store/store.ts';
import { localEvmKeys } from '../../chains/local-keys.ts';
import { startChains, type Chains } from '../../chains/start-chains.ts';
import { interceptRequests, jsonAnswer } from '../../http/intercept-requests.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
import { walk, watchRequests, watchStore } from '../crash/steps.ts';
import { briefly, openRefundSite, paid, type RefundSite } from './refund-site.ts';

/** Longer than the turn of a process that died, and than a Solana transaction lives. */
const laterMs = 200_000;

let chains: Chains;
let store: Store;
let data: TestStore;
let unwatch: () => void;
const engines = testEngines();

beforeAll(async () => {
  chains = await startChains();
  unwatch = watchRequests();
});
afterAll(async () => {
  unwatch();
  await chains.stop();
});

const useStore = (create: () => Promise<TestStore>): void => {
  beforeEach(async () => {
    data = await create();
    ({ store } = data);
  });
  afterEach(async () => {
    chains.base.controls.clearFaults();
    chains.solana.controls.clearFaults();
    chains.solana.controls.dropSends = false;
    chains.solana.controls.holdSends = false;
    await chains.base.controls.setAutomine(true);
    await data.remove();
  });
};

describe('a refund', () => {
  useStore(engines[0]!.create);

  describe('on Base', () => {
    let site: RefundSite;
    beforeEach(async () => {
      site = await openRefundSite(chains, 'base');
    });
    const client = () =>
      createTestClient({ mode: 'anvil', transport: http(chains.base.rpcUrl) })
        .extend(publicActions)
        .extend(walletActions);

    /** A refund that waits in the node's pool. */
    const leavePending = async (): Promise<{ refund: PaymentRefund; payer: string }> => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      await chains.base.controls.setAutomine(false);
      const end = await site.run(store, refund, briefly);
      expect(end).toMatchObject({ outcome: 'open', reason: 'not_landed', refund: { state: 'sending' } });
      return { refund: end.refund, payer: payment.payer };
    };
    /** The next question for a receipt is answered as by a node that is behind the others. */
    const answerReceiptWithNothing = (): { answers: number } => {
      const told = { answers: 0 };
      const stop = interceptRequests(async ({ body }, send) => {
        if (told.answers > 0 || !body.includes('eth_getTransactionReceipt')) return send();
        told.answers += 1;
        return jsonAnswer({ jsonrpc: '2.0', id: 1, result: null });
      });
      onTestFinished(stop);
      return told;
    };
    /** As a node that cannot name a final block answers. */
    const answerFinalBlockWith = (answer: object): void => {
      const stop = interceptRequests(async ({ body }, send) =>
        body.includes('"finalized"') ? jsonAnswer({ jsonrpc: '2.0', id: 1, ...answer }) : send(),
      );
      onTestFinished(stop);
    };
    const drop = async ({ transaction }: PaymentRefund): Promise<void> =>
      chains.base.controls.dropPending(`0x${transaction?.slice(2)}`);

    it('a transaction that was dropped is sent again, the same one', async () => {
      const { refund, payer } = await leavePending();
      await drop(refund);
      await chains.base.controls.setAutomine(true);
      const end = await site.finish(store, refund);
      expect(end).toMatchObject({ outcome: 'settled', refund: { transaction: refund.transaction } });
      expect(await site.balanceOf(payer)).toBe(paid);
    });

    it('a transaction whose place was taken has failed once that is final, and not before', async () => {
      const { refund, payer } = await leavePending();
      await drop(refund);
      await chains.base.controls.setAutomine(true);
      const account = privateKeyToAccount(`0x${site.walletKey.slice(2)}`);
      await client().sendTransaction({ account, chain: null, to: account.address, value: 1n });
      expect(await site.run(store, refund, briefly)).toMatchObject({ outcome: 'open', reason: 'not_landed' });
      await chains.base.controls.mine(100);
      expect(await site.run(store, refund)).toMatchObject({
        outcome: 'failed',
        refund: { state: 'failed', reason: 'nonce_used_otherwise' },
      });
      expect(await site.balanceOf(payer)).toBe(0n);
      const payment = await store.getPayment(refund.payment);
      const second = await site.plan(store, payment!);
      expect(await site.finish(store, second)).toMatchObject({ outcome: 'settled' });
      expect(await site.balanceOf(payer)).toBe(paid);
    });

    it('a transaction whose block is dropped is sent again, the same one, until it is final', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      const fork = await client().snapshot();
      const landed = await site.run(store, refund);
      expect(landed).toMatchObject({ outcome: 'landed', refund: { state: 'sending' } });
      await client().revert({ id: fork });
      expect(await site.balanceOf(payment.payer)).toBe(0n);
      const end = await site.finish(store, refund);
      expect(end).toMatchObject({
        outcome: 'settled',
        refund: { state: 'settled', transaction: landed.refund.transaction },
      });
      expect(await site.balanceOf(payment.payer)).toBe(paid);
    });

    it.each([
      ['refuses the name', { error: { code: -32_602, message: 'invalid block tag' } }],
      ['has no such block', { error: { code: -39_001, message: 'finalized block not found' } }],
      ['answers with nothing', { result: null }],
    ])('is settled 64 blocks deep, and says so, where a node %s of the final block', async (_, answer) => {
      answerFinalBlockWith(answer);
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      expect(await site.run(store, refund)).toMatchObject({ outcome: 'landed' });
      await chains.base.controls.mine(63);
      expect(await site.run(store, refund)).toMatchObject({ outcome: 'landed' });
      await chains.base.controls.mine(1);
      expect(await site.run(store, refund)).toMatchObject({
        outcome: 'settled',
        refund: { state: 'settled', reason: 'deep_not_final' },
      });
    });

    it('has not failed where a node names no final blocks, however deep it lies', async () => {
      const { refund } = await leavePending();
      await drop(refund);
      await chains.base.controls.setAutomine(true);
      const account = privateKeyToAccount(`0x${site.walletKey.slice(2)}`);
      await client().sendTransaction({ account, chain: null, to: account.address, value: 1n });
      await site.makeFinal();
      answerFinalBlockWith({ error: { code: -32_602, message: 'invalid block tag' } });
      expect(await site.run(store, refund, briefly)).toMatchObject({
        outcome: 'open',
        reason: 'not_landed',
        refund: { state: 'sending' },
      });
    });

    it('is not known while a node that is too busy names no final block', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      answerFinalBlockWith({ error: { code: -32_005, message: 'limit exceeded' } });
      expect(await site.run(store, refund, briefly)).toMatchObject({
        outcome: 'open',
        reason: 'rpc_unavailable',
      });
    });

    it('that the node refuses shows what it says, and the nonce that can be used otherwise', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      await client().setBalance({ address: `0x${site.walletAddress.slice(2)}`, value: 10n ** 15n });
      await walk(() => site.run(watchStore(store), refund), 'after advanceRefund to sending');
      await client().setBalance({ address: `0x${site.walletAddress.slice(2)}`, value: 0n });
      expect(await site.run(store, refund, briefly)).toMatchObject({
        outcome: 'open',
        reason: 'not_landed',
        refusal: expect.stringMatching(/^[ -~]*insufficient funds[ -~]*$/i),
        nonce: 0,
      });
    });

    it('of a payment whose transaction nobody knows is settled, and never called failed', async () => {
      const payment = await site.addPayment(store);
      const settled = await site.plan(store, payment, 10_000n);
      await data.sql('update payments set transaction_id = null');
      expect(await site.finish(store, settled)).toMatchObject({ outcome: 'settled' });
      const { refund } = await leavePending();
      await data.sql('update payments set transaction_id = null');
      await drop(refund);
      await chains.base.controls.setAutomine(true);
      const account = privateKeyToAccount(`0x${site.walletKey.slice(2)}`);
      await client().sendTransaction({ account, chain: null, to: account.address, value: 1n });
      await site.makeFinal();
      expect(await site.run(store, refund, briefly)).toMatchObject({
        outcome: 'open',
        reason: 'no_landmark',
        refund: { state: 'sending' },
      });
    });

    it('a node that has forgotten what came before it proves nothing', async () => {
      const { refund } = await leavePending();
      await drop(refund);
      await chains.base.controls.setAutomine(true);
      const account = privateKeyToAccount(`0x${site.walletKey.slice(2)}`);
      await client().sendTransaction({ account, chain: null, to: account.address, value: 1n });
      await chains.base.controls.mine(100);
      await data.sql(`update payments set transaction_id = '0x${'1'.repeat(64)}'`);
      expect(await site.run(store, refund, briefly)).toMatchObject({
        outcome: 'open',
        reason: 'history_too_short',
        refund: { state: 'sending' },
      });
    });

    it('a node that has not heard of a landed transaction does not make it fail', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      await site.run(store, refund, briefly);
      await site.makeFinal();
      const forgetful = answerReceiptWithNothing();
      const end = await site.run(store, refund, briefly);
      expect([end.outcome, forgetful.answers]).toEqual(['settled', 1]);
    });

    it('a transfer that the token refuses has failed once that is final, and not before', async () => {
      const { refund, payer } = await leavePending();
      await drop(refund);
      await chains.base.controls.setAutomine(true);
      const { deployer } = localEvmKeys;
      await client().sendTransaction({
        account: deployer.address,
        chain: null,
        to: chains.base.usdc,
        data: encodeFunctionData({
          abi: parseAbi(['function blacklist(address account)']),
          functionName: 'blacklist',
          args: [`0x${payer.slice(2)}`],
        }),
      });
      expect(await site.run(store, refund, briefly)).toMatchObject({
        outcome: 'open',
        reason: 'revert_not_final',
      });
      await chains.base.controls.mine(100);
      expect(await site.run(store, refund)).toMatchObject({
        outcome: 'failed',
        refund: { state: 'failed', reason: 'transaction_reverted' },
      });
    });

    it('a receipt without the transfer settles nothing', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      // The same hash, recorded as if it paid more than it does.
      await site.run(store, refund, briefly);
      await site.makeFinal();
      await data.sql(`update payment_refunds set amount = amount - 1 where id = '${refund.id}'`);
      expect(await site.run(store, refund, briefly)).toMatchObject({
        outcome: 'open',
        reason: 'transfer_not_logged',
        refund: { state: 'sending' },
      });
    });
  });

  describe('on Solana', () => {
    let site: RefundSite;
    beforeEach(async () => {
      site = await openRefundSite(chains, 'solana');
    });

    it('a transaction that was dropped is sent again, the same one', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      chains.solana.controls.dropSends = true;
      const dropped = await site.run(store, refund, briefly);
      expect(dropped).toMatchObject({ outcome: 'open', reason: 'not_landed' });
      chains.solana.controls.dropSends = false;
      const end = await site.finish(store, refund);
      expect(end).toMatchObject({
        outcome: 'settled',
        refund: { transaction: dropped.refund.transaction },
      });
      expect(await site.balanceOf(payment.payer)).toBe(paid);
    });

    it('a transaction has failed when its blockhash is long dead, and not before', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      chains.solana.controls.dropSends = true;
      await site.run(store, refund, briefly);
      chains.solana.controls.dropSends = false;
      chains.solana.controls.expireBlockhash();
      expect(await site.run(store, refund, briefly)).toMatchObject({ outcome: 'open', reason: 'not_landed' });
      expect(await site.run(store, refund, { aheadMs: laterMs })).toMatchObject({
        outcome: 'failed',
        refund: { state: 'failed', reason: 'blockhash_expired' },
      });
      const second = await site.plan(store, payment);
      expect(await site.finish(store, second)).toMatchObject({ outcome: 'settled' });
      expect(await site.balanceOf(payment.payer)).toBe(paid);
    });

    it('a transaction is not called dead as long as its blockhash lives', async () => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      chains.solana.controls.holdSends = true;
      expect(await site.run(store, refund, { aheadMs: 0, ...briefly })).toMatchObject({ outcome: 'open' });
      expect(await site.run(store, refund, { aheadMs: laterMs, ...briefly })).toMatchObject({
        outcome: 'open',
        reason: 'not_landed',
      });
      chains.solana.controls.landHeld();
      expect(await site.run(store, refund, { aheadMs: laterMs })).toMatchObject({ outcome: 'landed' });
      expect(await site.balanceOf(payment.payer)).toBe(paid);
    });

    it.each([
      ['that has forgotten what came before it', { landmark: 'forgotten' }],
      ['that is asked without anything that it should know', { landmark: null }],
      ['that is behind the cluster', { health: 'behind' }],
    ] as const)('a node %s proves nothing', async (_, how) => {
      const payment = await site.addPayment(store);
      const refund = await site.plan(store, payment);
      chains.solana.controls.dropSends = true;
      await site.run(store, refund, briefly);
      chains.solana.controls.expireBlockhash();
      if ('landmark' in how)
        await data.sql(
          `update payments set transaction_id = ${how.landmark === null ? 'null' : `'${'1'.repeat(88)}'`}`,
        );
      else chains.solana.controls.inject({ fault: 'error', methods: ['getHealth'] });
      expect(await site.run(store, refund, { aheadMs: laterMs, ...briefly })).toMatchObject({
        outcome: 'open',
        reason: 'landmark' in how && how.landmark === null ? 'no_landmark' : 'history_too_short',
        refund: { state: 'sending' },
      });
    });
  });
});
