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
import { inSenderTurn, type TurnTimings } from './refund-turn.ts';

/** What became of one run over a refund. */
export type RefundEnd =
  /** The chain has the transfer for good. */
  | { outcome: 'settled'; refund: PaymentRefund }
  /** The chain shows it, where a fork can still take it back: it stays `sending` until a later look. */
  | { outcome: 'landed'; refund: PaymentRefund }
  /** Proven: nothing was moved, and nothing will be. Another refund may be planned. */
  | { outcome: 'failed'; refund: PaymentRefund }
  /** Signed, perhaps sent, and its end not known yet. */
  | {
      outcome: 'open';
      refund: PaymentRefund;
      reason: string;
      /** What the node said against the transaction when it was last sent, in one line. */
      refusal: string | null;
      /** EVM: the sender's nonce, with which another transaction can take its place. */
      nonce: number | null;
    }
  /** Nothing was signed. */
  | { outcome: 'postponed'; refund: PaymentRefund; reason: string };

/** Milliseconds. */
export interface RefundTimings extends TurnTimings {
  /** All of signing and sending. */
  signMs: number;
  /** One look at the chain. */
  lookMs: number;
  /** How long to wait for the chain to show the transfer. */
  settleMs: number;
  pollMs: number;
  /** How often a transaction is sent again that is not seen to land. */
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

/**
 * Brings a planned refund onto the chain, from wherever an earlier run left it. A transfer of tokens can be made twice,
 * so there is only ever one for a refund: its bytes are durable before they are sent, and from then on the same bytes
 * are sent again until the chain has them, or proves that it never will. Throws what the store throws.
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

  /** Null: it is signed by now, by whoever was first. */
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
    // Somebody else may have the account, and its next place, by now. What was signed is seen by nobody.
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
    // What the node says of it is heard when it is sent again.
    await chain.send(signed, limited);
    return null;
  };

  const sign = async (planned: PaymentRefund, signal: AbortSignal): Promise<RefundEnd | null> => {
    const wallet = await openWallet();
    const ended = await inSenderTurn(
      { store, clock, timings },
      { sender: turnOf(planned, wallet), signal },
      async (isOurs) => {
        const refund = await read(planned.id);
        return refund.state === 'planned' ? signOnce(refund, { wallet, isOurs, signal }) : null;
      },
    );
    return ended === null ? { outcome: 'postponed', refund: planned, reason: 'account_busy' } : ended.value;
  };

  /** Looks and sends again until the chain shows what became of it, or the time is up. */
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
