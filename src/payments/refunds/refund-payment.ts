import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../kit/clock.ts';
import { signalWithin } from '../chains/core/facilitator.ts';
import { isNodeTrouble } from '../chains/core/json-rpc.ts';
import {
  FeesTooHigh,
  type BegunTransfer,
  type RefundChain,
  type RefundWallet,
  type SignedTransfer,
  type TransferOutcome,
} from '../chains/core/refund-transfer.ts';
import type { Payment, PaymentRefund, Store } from '../../store/store.ts';
import { moveRefund } from './refund-events.ts';
import { endRefund, findTransfer, toBegunTransfer } from './check-refunds.ts';
import { newId } from '../../kit/ids.ts';
import { pause } from '../../kit/repeat.ts';

export type RefundTimings = typeof defaultTimings;

const defaultTimings = {
  /** How long a dead process keeps the account. A living one renews its lease before. */
  leaseMs: 5_000,
  /** How long to wait for the account. Above `leaseMs`, the lease of a dead process runs out meanwhile. */
  leaseWaitMs: 30_000,
  signMs: 15_000,
  queryMs: 45_000,
  settleMs: 90_000,
  pollMs: 1_000,
  /** The interval in which a transaction is sent again until the chain shows it. */
  resendMs: 5_000,
};

const leasePollMs = 100;
const shortestRenewalMs = 10;

/**
 * Runs `work` while this process has the account alone; null when the account was not free in time. The work calls
 * `isOurs` before it uses what it found out. The lease is renewed while the work runs, and ends with it.
 */
export const inAccountLease = async <T>(
  {
    store,
    clock,
    timings: { leaseMs, leaseWaitMs },
  }: {
    store: Pick<Store, 'takeAccountLease' | 'endAccountLease'>;
    clock: Clock;
    timings: Pick<RefundTimings, 'leaseMs' | 'leaseWaitMs'>;
  },
  { sender, signal }: { sender: string; signal: AbortSignal },
  work: (isOurs: () => boolean) => Promise<T>,
): Promise<{ value: T } | null> => {
  const owner = `refund/${newId()}`;
  let until = 0;
  const take = async (): Promise<boolean> => {
    const now = clock.now();
    const isTaken = await store.takeAccountLease({ sender, owner, until: now + leaseMs, now });
    if (isTaken) until = now + leaseMs;
    return isTaken;
  };
  /** A lease that ran out is not taken again: another process may have sent meanwhile. */
  const renew = async (ended: AbortSignal): Promise<void> => {
    for (;;) {
      await pause(Math.max(leaseMs / 3, shortestRenewalMs), ended, { keepsAlive: true });
      if (ended.aborted || clock.now() >= until || !(await take())) return;
    }
  };

  const giveUpAt = clock.now() + leaseWaitMs;
  while (!(await take())) {
    if (clock.now() >= giveUpAt) return null;
    await sleep(leasePollMs, undefined, { signal });
  }
  const ending = new AbortController();
  const renewing = Promise.allSettled([renew(ending.signal)]);
  try {
    return { value: await work(() => clock.now() < until) };
  } finally {
    ending.abort();
    // When the store fails here, the lease runs out, and the next write of the work fails too.
    await renewing;
    await store.endAccountLease({ sender, owner });
  }
};

export type RefundEnd =
  | { outcome: 'settled'; refund: PaymentRefund }
  /** The chain shows it, but a fork can still undo it: it stays `sending` until a later check. */
  | { outcome: 'landed'; refund: PaymentRefund }
  /** It is proven that nothing was moved and nothing will be. Another refund may be planned. */
  | { outcome: 'failed'; refund: PaymentRefund }
  /** It is signed, perhaps sent, and its end is not known yet. */
  | {
      outcome: 'open';
      refund: PaymentRefund;
      reason: string;
      /** The node's reason, in one line, when it refused the transaction the last time. */
      refusal: string | null;
      /** EVM: the sender's nonce, with which another transaction can replace it. */
      nonce: number | null;
    }
  /** Nothing was signed. */
  | { outcome: 'postponed'; refund: PaymentRefund; reason: string };

interface RefundContext {
  store: Pick<Store, 'getRefund' | 'advanceRefund' | 'takeAccountLease' | 'endAccountLease'>;
  clock: Clock;
  chain: RefundChain;
  /** Called only while nothing is signed. */
  openWallet: () => Promise<RefundWallet>;
  timings: RefundTimings;
  signal: AbortSignal;
}

/**
 * Brings a planned refund onto the chain and goes on where an earlier run ended. A token transfer can be made twice, so
 * each refund has only one: its bytes are durable before they are sent, and the same bytes are sent again until the
 * chain has them or proves that it never will. Throws what the store throws.
 */
export const refundPayment = async (
  options: Omit<RefundContext, 'timings'> & { timings?: Partial<RefundTimings> },
  planned: PaymentRefund,
  payment: Payment,
): Promise<RefundEnd> => {
  const context: RefundContext = { ...options, timings: { ...defaultTimings, ...options.timings } };
  const postponed = planned.state === 'planned' ? await sign(context, planned) : null;
  if (postponed !== null) return postponed;
  const refund = await read(context, planned.id);
  if (refund.state === 'settled' || refund.state === 'failed') return { outcome: refund.state, refund };
  const transfer = toBegunTransfer(refund, payment);
  const { found, refusal } = await follow(context, transfer);
  switch (found.outcome) {
    case 'landed':
      return { outcome: 'landed', refund };
    case 'open':
      return {
        outcome: 'open',
        refund,
        reason: found.reason,
        refusal,
        nonce: context.chain.nonceOf(transfer),
      };
    case 'settled':
    case 'failed':
      return { outcome: found.outcome, refund: await endRefund(context, refund, found) };
  }
};

const read = async ({ store }: RefundContext, id: string): Promise<PaymentRefund> => {
  const refund = await store.getRefund(id);
  if (refund === null) throw new Error(`refund ${id} is gone`);
  return refund;
};

/** Signs and sends a refund while this process has the wallet alone. Null: it is signed, by this process or another. */
const sign = async (context: RefundContext, planned: PaymentRefund): Promise<RefundEnd | null> => {
  const wallet = await context.openWallet();
  // Every sender from the account takes this lease.
  const sender = `${planned.network}:${wallet.address.toLowerCase()}`;
  const ended = await inAccountLease(context, { sender, signal: context.signal }, async (isOurs) => {
    const refund = await read(context, planned.id);
    return refund.state === 'planned' ? signOnce(context, refund, { wallet, isOurs }) : null;
  });
  return ended === null ? { outcome: 'postponed', refund: planned, reason: 'account_busy' } : ended.value;
};

const signOnce = async (
  context: RefundContext,
  refund: PaymentRefund,
  { wallet, isOurs }: { wallet: RefundWallet; isOurs: () => boolean },
): Promise<RefundEnd | null> => {
  const { chain, timings, signal } = context;
  const postponed = (reason: string): RefundEnd => ({ outcome: 'postponed', refund, reason });
  const limited = signalWithin(timings.signMs, signal);
  let signed: SignedTransfer;
  try {
    signed = await wallet.sign(refund, limited);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FeesTooHigh) return postponed('fees_too_high');
    if (isNodeTrouble(error)) return postponed('rpc_unavailable');
    throw error;
  }
  // Another process may have the account and its nonce by now. Nobody has seen what was signed.
  if (!isOurs()) return postponed('signing_too_slow');
  const { transaction, rawTransaction } = signed;
  const moved = await moveRefund(context, refund.id, 'signed', {
    sender: wallet.address,
    transaction,
    rawTransaction,
  });
  if (moved === null)
    return (await read(context, refund.id)).state === 'planned' ? postponed('not_owed') : null;
  // The answer of the node is heard when it is sent again.
  await chain.send(signed, limited);
  return null;
};

const follow = async (
  { chain, timings, signal }: RefundContext,
  transfer: BegunTransfer,
): Promise<{ found: TransferOutcome; refusal: string | null }> => {
  const giveUpAt = performance.now() + timings.settleMs;
  let nextSendAt = 0;
  let refusal: string | null = null;
  for (;;) {
    const found = await findTransfer(chain, transfer, { timeoutMs: timings.queryMs, signal });
    if (found.outcome !== 'open' || performance.now() >= giveUpAt) return { found, refusal };
    if (performance.now() >= nextSendAt) {
      nextSendAt = performance.now() + timings.resendMs;
      refusal = await chain.send(transfer, signalWithin(timings.queryMs, signal));
    }
    await sleep(timings.pollMs, undefined, { signal });
  }
};
