import { randomBytes, randomUUID } from 'node:crypto';
import { createSolanaRpc, generateKeyPairSigner } from '@solana/kit';
import { createTestClient, http, walletActions } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import type { Clock } from '../../../src/kit/clock.ts';
import {
  refundPayment,
  type RefundEnd,
  type RefundTimings,
} from '../../../src/payments/refunds/refund-payment.ts';
import { openRefundChain } from '../../../src/payments/refunds/refund-chain.ts';
import type { Payment, PaymentRefund, Store } from '../../../src/store/store.ts';
import { localEvmKeys } from '../../chains/local-keys.ts';
import { signUsdcTransfer } from '../../chains/sign-usdc-transfer.ts';
import type { Chains } from '../../chains/start-chains.ts';
import type { ChainName } from '../support/buyer.ts';
import { newPayment } from '../../store/builders.ts';

/** What every payment of these tests amounts to. */
export const paid = 100_000n;

const quick: Partial<RefundTimings> = { pollMs: 20, resendMs: 60 };
/** For what a chain does not show: it then counts as not known. */
export const briefly = { timings: { settleMs: 400 } };
/** Longer than any turn. */
const turnsOverMs = 3_600_000;
const gas = 10n ** 18n;
const blocksToFinality = 70;
const slotsToFinality = 33;

/** A chain, a wallet with money for refunds, and payers who have nothing yet. */
export interface RefundSite {
  walletAddress: string;
  walletKey: string;
  /**
   * A settled payment, where nobody is named of a payer of its own, whose balance therefore tells how often he was paid
   * back. Its transaction landed: a node is believed only by what it remembers.
   */
  addPayment(store: Store, payer?: string): Promise<Payment & { payer: string }>;
  plan(store: Store, payment: Payment, amount?: bigint): Promise<PaymentRefund>;
  /** Goes on with a refund as a new process would, that much later. */
  run(
    store: Store,
    refund: PaymentRefund,
    options?: { aheadMs?: number; timings?: Partial<RefundTimings> },
  ): Promise<RefundEnd>;
  /** The same, and once more when what has landed is final. */
  finish(store: Store, refund: PaymentRefund, options?: { aheadMs?: number }): Promise<RefundEnd>;
  /** Lets so much follow what has landed that it is final. */
  makeFinal(): Promise<void>;
  /** Takes the wallet's turn from a process that died with it, as time does. */
  endTurn(store: Store): Promise<void>;
  balanceOf(owner: string): Promise<bigint>;
}

const connect = (rpcUrl: string) =>
  createTestClient({ mode: 'anvil', transport: http(rpcUrl) }).extend(walletActions);

const addSettled = async (
  store: Store,
  payment: Pick<Payment, 'identity' | 'network' | 'asset' | 'transaction'> & { payer: string },
): Promise<Payment & { payer: string }> => {
  const { identity, network, asset, transaction, payer } = payment;
  const now = Date.now();
  await store.reservePayment(newPayment({ identity, network, asset, amount: paid, now }));
  const settled = await store.advancePayment({
    identity,
    from: ['reserved'],
    to: 'delivered',
    set: {
      payer,
      transaction,
      settledAt: now,
      result: '{}',
      leaseOwner: null,
      leaseUntil: null,
      checkAt: null,
    },
    now,
  });
  if (settled === null) throw new Error('the payment did not move');
  return { ...settled, payer };
};

const addBasePayment = async ({ base }: Chains, store: Store, payer: string) => {
  const transaction = await connect(base.rpcUrl).sendTransaction({
    account: localEvmKeys.deployer.address,
    chain: null,
    to: base.seller.address,
    value: 1n,
  });
  const nonce = `0x${randomBytes(32).toString('hex')}`;
  const identity = `${base.network}:${base.usdc}:${payer}:${nonce}`.toLowerCase();
  return addSettled(store, { identity, network: base.network, asset: base.usdc, transaction, payer });
};

const addSolanaPayment = async ({ solana }: Chains, store: Store, payer: string) => {
  await solana.mint(solana.buyer.address, 1n);
  const rpc = createSolanaRpc(solana.rpcUrl);
  const { value: lifetime } = await rpc.getLatestBlockhash().send();
  const { wire, signature } = await signUsdcTransfer(solana, { amount: 1n, lifetime });
  await rpc.sendTransaction(wire, { encoding: 'base64' }).send();
  // Two transfers of one amount within a slot would be one.
  solana.controls.advanceSlots(1);
  const identity = `${solana.network}:${randomBytes(32).toString('hex')}`;
  const { network, usdc: asset } = solana;
  return addSettled(store, { identity, network, asset, transaction: signature, payer });
};

const createWallet = async (
  { base, solana }: Chains,
  chain: ChainName,
): Promise<{ address: string; key: string }> => {
  if (chain === 'solana') {
    const { address, secretKeyBase58: key } = solana.facilitator;
    await solana.mint(address, 100n * paid);
    return { address, key };
  }
  const key = generatePrivateKey();
  const address = privateKeyToAddress(key);
  await connect(base.rpcUrl).setBalance({ address, value: gas });
  await base.mint(address, 100n * paid);
  return { address, key };
};

export const openRefundSite = async (chains: Chains, chain: ChainName): Promise<RefundSite> => {
  const wallet = await createWallet(chains, chain);
  const { rpcUrl, network } = chains[chain];
  const makeFinal = async (): Promise<void> => {
    if (chain === 'base') await chains.base.controls.mine(blocksToFinality);
    else chains.solana.controls.advanceSlots(slotsToFinality);
  };
  const site: RefundSite = {
    walletAddress: wallet.address,
    walletKey: wallet.key,
    addPayment: async (store, payer) =>
      chain === 'base'
        ? addBasePayment(chains, store, payer ?? privateKeyToAddress(generatePrivateKey()))
        : addSolanaPayment(chains, store, payer ?? (await generateKeyPairSigner()).address),
    plan: async (store, { identity }, amount) => {
      const planned = await store.planRefund({
        id: randomUUID(),
        payment: identity,
        amount: amount ?? null,
        note: null,
        acceptsUnknown: false,
        now: Date.now(),
      });
      if (planned.outcome !== 'planned') throw new Error(planned.outcome);
      return planned.refund;
    },
    run: async (store, { id, payment: identity }, { aheadMs = 0, timings } = {}) => {
      const [refund, payment] = await Promise.all([store.getRefund(id), store.getPayment(identity)]);
      if (refund === null || payment === null) throw new Error('there is no such refund');
      const clock: Clock = { now: () => Date.now() + aheadMs };
      const networks = [{ network, facilitator: { rpcUrl } }];
      const opened = await openRefundChain(networks, refund, { now: clock.now, rpcTimeoutMs: 30_000 });
      if (typeof opened === 'string') throw new Error(opened);
      const options = {
        store,
        clock,
        chain: opened.chain,
        openWallet: () => opened.openWallet(wallet.key),
        timings: { ...quick, ...timings },
        signal: new AbortController().signal,
      };
      return refundPayment(options, refund, payment);
    },
    finish: async (store, refund, options) => {
      const end = await site.run(store, refund, options);
      if (end.outcome !== 'landed') return end;
      await makeFinal();
      return site.run(store, refund, options);
    },
    makeFinal,
    endTurn: async (store) => {
      const sender = `${network}:${wallet.address.toLowerCase()}`;
      const later = Date.now() + turnsOverMs;
      await store.takeAccountLease({ sender, owner: 'later', until: later, now: later });
      await store.endAccountLease({ sender, owner: 'later' });
    },
    balanceOf: (owner) =>
      chain === 'base' ? chains.base.balanceOf(`0x${owner.slice(2)}`) : chains.solana.balanceOf(owner),
  };
  return site;
};
