import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../kit/clock.ts';
import {
  FeesTooHigh,
  type BegunTransfer,
  type RefundChain,
  type RefundWallet,
  type SignedTransfer,
  type TransferOutcome,
} from '../../payments/refunds/refund-transfer.ts';
import type { Payment, PaymentRefund, Store } from '../../store/store.ts';
import {
  endRefund,
  isNodeTrouble,
  lookForTransfer,
  toBegunTransfer,
  toRefundTransfer,
} from './refund-look.ts';
import { inAccountLease, type TurnTimings } from './refund-turn.ts';

/** The result of one run over a refund. */
export type RefundEnd =
  /** The transfer is final on the chain. */
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

/** Milliseconds. */
export interface RefundTimings extends TurnTimings {
  /** Signing and sending together. */
  signMs: number;
  /** One question to the chain. */
  lookMs: number;
  /** How long to wait until the chain shows the transfer. */
  settleMs: number;
  pollMs: number;
  /** The interval in which a transaction is sent again until the chain shows it. */
  resendMs: number;
}

const defaultRefundTimings: RefundTimings = {
  turnMs: 5_000,
  turnWaitMs: 30_000,
  signMs: 15_000,
  lookMs: 45_000,
  settleMs: 90_000,
  pollMs: 1_000,
  resendMs: 5_000,
};

type RefundStore = Pick<Store, 'getRefund' | 'advanceRefund' | 'takeAccountLease' | 'endAccountLease'>;

interface Context {
  store: RefundStore;
  clock: Clock;
  chain: RefundChain;
  /** Called only while nothing is signed. */
  openWallet: () => Promise<RefundWallet>;
  timings?: Partial<RefundTimings>;
}

/** Names the turn of an account, which every sender from it takes. */
const turnOf = ({ network }: PaymentRefund, { address }: RefundWallet): string =>
  `${network}:${address.toLowerCase()}`;

/**
 * Brings a planned refund onto the chain and goes on where an earlier run ended. A token transfer can be made twice, so
 * each refund has only one: its bytes are durable before they are sent, and the same bytes are sent again until the
 * chain has them or proves that it never will. Throws what the store throws.
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

  /** Null: the refund is signed, by this process or another. */
  const signOnce = async (
    refund: PaymentRefund,
    { wallet, isOurs, signal }: { wallet: RefundWallet; isOurs: () => boolean; signal: AbortSignal },
  ): Promise<RefundEnd | null> => {
    const postponed = (reason: string): RefundEnd => ({ outcome: 'postponed', refund, reason });
    const limited = within(timings.signMs, signal);
    let signed: SignedTransfer;
    try {
      signed = await wallet.sign(toRefundTransfer(refund), limited);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FeesTooHigh) return postponed('fees_too_high');
      if (isNodeTrouble(error)) return postponed('rpc_unavailable');
      throw error;
    }
    // Another process may have the account and its nonce by now. Nobody has seen what was signed.
    if (!isOurs()) return postponed('signing_too_slow');
    const { transaction, rawTransaction } = signed;
    const moved = await store.advanceRefund({
      id: refund.id,
      from: ['planned'],
      to: 'sending',
      set: { sender: wallet.address, transaction, rawTransaction },
      now: clock.now(),
    });
    if (moved === null) return (await read(refund.id)).state === 'planned' ? postponed('not_owed') : null;
    // The answer of the node is heard when it is sent again.
    await chain.send(signed, limited);
    return null;
  };

  const sign = async (planned: PaymentRefund, signal: AbortSignal): Promise<RefundEnd | null> => {
    const wallet = await openWallet();
    const ended = await inAccountLease(
      { store, clock, timings },
      { sender: turnOf(planned, wallet), signal },
      async (isOurs) => {
        const refund = await read(planned.id);
        return refund.state === 'planned' ? signOnce(refund, { wallet, isOurs, signal }) : null;
      },
    );
    return ended === null ? { outcome: 'postponed', refund: planned, reason: 'account_busy' } : ended.value;
  };

  /** Asks the chain and sends again until the transfer has ended or the time is up. */
  const follow = async (
    transfer: BegunTransfer,
    signal: AbortSignal,
  ): Promise<{ found: TransferOutcome; refusal: string | null }> => {
    const giveUpAt = performance.now() + timings.settleMs;
    let nextSendAt = 0;
    let refusal: string | null = null;
    for (;;) {
      const found = await lookForTransfer(chain, transfer, { lookMs: timings.lookMs, signal });
      if (found.outcome !== 'open' || performance.now() >= giveUpAt) return { found, refusal };
      if (performance.now() >= nextSendAt) {
        nextSendAt = performance.now() + timings.resendMs;
        refusal = await chain.send(transfer, within(timings.lookMs, signal));
      }
      await sleep(timings.pollMs, undefined, { signal });
    }
  };

  return async (planned, payment, signal) => {
    const unsigned = planned.state === 'planned' ? await sign(planned, signal) : null;
    if (unsigned !== null) return unsigned;
    const refund = await read(planned.id);
    const known = endOf(refund);
    if (known !== null) return known;
    const transfer = toBegunTransfer(refund, payment);
    const { found, refusal } = await follow(transfer, signal);
    switch (found.outcome) {
      case 'landed':
        return { outcome: 'landed', refund };
      case 'open':
        return { outcome: 'open', refund, reason: found.reason, refusal, nonce: chain.nonceOf(transfer) };
      case 'settled':
      case 'failed':
        return { outcome: found.outcome, refund: await endRefund({ store, clock }, refund, found) };
    }
  };
};

const endOf = (refund: PaymentRefund): RefundEnd | null =>
  refund.state === 'settled' || refund.state === 'failed' ? { outcome: refund.state, refund } : null;
