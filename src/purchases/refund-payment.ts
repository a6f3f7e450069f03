import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../ids.ts';
import type { Clock } from '../clock.ts';
import { RpcOutage, RpcRefusal } from '../payments/facilitators/json-rpc.ts';
import {
  FeesTooHigh,
  type BegunTransfer,
  type RefundChain,
  type RefundTransfer,
  type RefundWallet,
  type SignedTransfer,
  type TransferOutcome,
} from '../payments/refunds/refund-transfer.ts';
import type { Payment, PaymentRefund, Store } from '../store/store.ts';

/** What became of one run over a refund. */
export type RefundEnd =
  /** The chain shows the transfer. */
  | { outcome: 'settled'; refund: PaymentRefund }
  /** Proven: nothing was moved, and nothing will be. Another refund may be planned. */
  | { outcome: 'failed'; refund: PaymentRefund }
  /** Signed, perhaps sent, and its end not known yet. */
  | { outcome: 'open'; refund: PaymentRefund; reason: string }
  /** Nothing was signed. */
  | { outcome: 'postponed'; refund: PaymentRefund; reason: string };

/** Milliseconds. */
export interface RefundTimings {
  /** How long the account is this process's own while it signs and sends. */
  turnMs: number;
  /** How long to wait for the account; above `turnMs`, the turn of a dead process runs out meanwhile. */
  turnWaitMs: number;
  /** All of signing and sending. */
  signMs: number;
  /** One look at the chain. */
  lookMs: number;
  /** How long to wait for the chain. */
  settleMs: number;
  pollMs: number;
  /** How often a transaction is sent again that is not seen to land. */
  resendMs: number;
}

const defaultRefundTimings: RefundTimings = {
  turnMs: 30_000,
  turnWaitMs: 45_000,
  signMs: 20_000,
  lookMs: 45_000,
  settleMs: 90_000,
  pollMs: 1_000,
  resendMs: 5_000,
};

type RefundStore = Pick<Store, 'getRefund' | 'advanceRefund' | 'takeSenderTurn' | 'endSenderTurn'>;

interface Context {
  store: RefundStore;
  clock: Clock;
  chain: RefundChain;
  /** Asked for only while nothing is signed. */
  openWallet: () => Promise<RefundWallet>;
  timings?: Partial<RefundTimings>;
}

/** The name of an account's turn, which whoever sends from it takes. */
const turnOf = ({ network }: PaymentRefund, { address }: RefundWallet): string =>
  `${network}:${address.toLowerCase()}`;

const toRefundTransfer = ({ id, asset, recipient, amount }: RefundTransfer): RefundTransfer => ({
  id,
  asset,
  recipient,
  amount,
});

const toBegun = (refund: PaymentRefund, payment: Payment): BegunTransfer => {
  const { sender, transaction, rawTransaction, updatedAt } = refund;
  if (sender === null || transaction === null || rawTransaction === null || payment.transaction === null)
    throw new Error(`refund ${refund.id} was begun without its transaction`);
  return {
    ...toRefundTransfer(refund),
    sender,
    transaction,
    rawTransaction,
    // Nothing changes a refund between its signing and its end.
    signedAt: updatedAt,
    landmark: payment.transaction,
  };
};

const isOutage = (error: unknown): boolean => error instanceof RpcOutage || error instanceof RpcRefusal;

/**
 * Brings a planned refund to its end, from wherever an earlier run left it. A transfer of tokens can be made twice, so
 * there is only ever one for a refund: its bytes are durable before they are sent, and from then on the same bytes are
 * sent again until the chain has them, or proves that it never will. Throws what the store throws.
 */
export const createRefunding = (
  context: Context,
): ((planned: PaymentRefund, payment: Payment, signal: AbortSignal) => Promise<RefundEnd>) => {
  const { store, clock, chain, openWallet } = context;
  const timings = { ...defaultRefundTimings, ...context.timings };
  const within = (ms: number, signal: AbortSignal): AbortSignal =>
    AbortSignal.any([signal, AbortSignal.timeout(ms)]);

  const read = async (id: string): Promise<PaymentRefund> => {
    const refund = await store.getRefund(id);
    if (refund === null) throw new Error(`refund ${id} is gone`);
    return refund;
  };

  /** Has the account to itself for `work`; null when it was not to be had in time. */
  const inTurn = async <T>(
    sender: string,
    work: (until: number) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | null> => {
    const owner = `refund/${newId()}`;
    const giveUpAt = clock.now() + timings.turnWaitMs;
    for (;;) {
      signal.throwIfAborted();
      const now = clock.now();
      const until = now + timings.turnMs;
      if (await store.takeSenderTurn({ sender, owner, until, now })) {
        try {
          return await work(until);
        } finally {
          await store.endSenderTurn({ sender, owner });
        }
      }
      if (now >= giveUpAt) return null;
      await sleep(Math.min(timings.pollMs, 250), undefined, { signal });
    }
  };

  /** Null: it is signed by now, by whoever was first. */
  const signOnce = async (
    refund: PaymentRefund,
    { wallet, until, signal }: { wallet: RefundWallet; until: number; signal: AbortSignal },
  ): Promise<RefundEnd | null> => {
    const limited = within(timings.signMs, signal);
    let signed: SignedTransfer;
    try {
      signed = await wallet.sign(toRefundTransfer(refund), limited);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FeesTooHigh) return { outcome: 'postponed', refund, reason: 'fees_too_high' };
      if (isOutage(error)) return { outcome: 'postponed', refund, reason: 'rpc_unavailable' };
      throw error;
    }
    // Somebody else may have the account, and its next place, by now. What was signed is seen by nobody.
    if (clock.now() >= until) return { outcome: 'postponed', refund, reason: 'signing_too_slow' };
    const { transaction, rawTransaction } = signed;
    const moved = await store.advanceRefund({
      id: refund.id,
      from: ['planned'],
      to: 'sending',
      set: { sender: wallet.address, transaction, rawTransaction },
      now: clock.now(),
    });
    if (moved !== null) await chain.send(signed, limited);
    return null;
  };

  const sign = async (planned: PaymentRefund, signal: AbortSignal): Promise<RefundEnd | null> => {
    const wallet = await openWallet();
    const busy: RefundEnd = { outcome: 'postponed', refund: planned, reason: 'account_busy' };
    const ended = await inTurn(
      turnOf(planned, wallet),
      async (until) => {
        const refund = await read(planned.id);
        return { end: refund.state === 'planned' ? await signOnce(refund, { wallet, until, signal }) : null };
      },
      signal,
    );
    return ended === null ? busy : ended.end;
  };

  const look = async (transfer: BegunTransfer, signal: AbortSignal): Promise<TransferOutcome> => {
    try {
      return await chain.findOutcome(transfer, within(timings.lookMs, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (isOutage(error)) return { outcome: 'open', reason: 'rpc_unavailable' };
      throw error;
    }
  };

  /** Looks and sends again until the chain has said the last word, or the time is up. */
  const follow = async (transfer: BegunTransfer, signal: AbortSignal): Promise<TransferOutcome> => {
    const giveUpAt = performance.now() + timings.settleMs;
    let nextSendAt = 0;
    for (;;) {
      const found = await look(transfer, signal);
      if (found.outcome !== 'open' || performance.now() >= giveUpAt) return found;
      if (performance.now() >= nextSendAt) {
        nextSendAt = performance.now() + timings.resendMs;
        await chain.send(transfer, within(timings.lookMs, signal));
      }
      await sleep(timings.pollMs, undefined, { signal });
    }
  };

  /** Another run may have written the same end. */
  const end = async (
    { id }: PaymentRefund,
    to: 'settled' | 'failed',
    reason: string | null,
  ): Promise<RefundEnd> => {
    const moved = await store.advanceRefund({
      id,
      from: ['sending'],
      to,
      ...(reason === null ? {} : { set: { reason } }),
      now: clock.now(),
    });
    const refund = moved ?? (await read(id));
    if (refund.state !== to)
      throw new Error(`refund ${id} is ${to} by the chain and ${refund.state} by the store`);
    return { outcome: to, refund };
  };

  return async (planned, payment, signal) => {
    const unsigned = planned.state === 'planned' ? await sign(planned, signal) : null;
    if (unsigned !== null) return unsigned;
    const refund = await read(planned.id);
    const known = endOf(refund);
    if (known !== null) return known;
    const found = await follow(toBegun(refund, payment), signal);
    if (found.outcome === 'open') return { outcome: 'open', refund, reason: found.reason };
    return end(refund, found.outcome, found.outcome === 'failed' ? found.reason : null);
  };
};

const endOf = (refund: PaymentRefund): RefundEnd | null =>
  refund.state === 'settled' || refund.state === 'failed' ? { outcome: refund.state, refund } : null;
