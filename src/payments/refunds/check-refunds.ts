import type { Clock } from '../../kit/clock.ts';
import type { PaymentRefund, Store, Payment } from '../../store/store.ts';
import { openRefundPlace, type RefundNetwork } from './refund-chain.ts';
import { isNodeTrouble } from '../chains/core/json-rpc.ts';
import type { BegunTransfer, RefundChain, TransferOutcome } from '../chains/core/refund-transfer.ts';
import { moveRefund } from './refund-events.ts';

/** Returns the signed transfer of a refund. Throws Error when none was signed, which is a bug. */
export const toBegunTransfer = (refund: PaymentRefund, payment: Payment): BegunTransfer => {
  const { id, asset, recipient, amount, sender, transaction, rawTransaction, updatedAt } = refund;
  if (sender === null || transaction === null || rawTransaction === null)
    throw new Error(`refund ${id} was begun without its transaction`);
  return {
    id,
    asset,
    recipient,
    amount,
    sender,
    transaction,
    rawTransaction,
    // The time of its signing (refund-events.ts).
    signedAt: updatedAt,
    landmark: payment.transaction,
  };
};

/** Asks the chain about a transfer. A node without a usable answer leaves it open. */
export const lookForTransfer = async (
  chain: RefundChain,
  transfer: BegunTransfer,
  { lookMs, signal }: { lookMs: number; signal: AbortSignal },
): Promise<TransferOutcome> => {
  try {
    return await chain.findOutcome(transfer, AbortSignal.any([signal, AbortSignal.timeout(lookMs)]));
  } catch (error) {
    signal.throwIfAborted();
    if (isNodeTrouble(error)) return { outcome: 'open', reason: 'rpc_unavailable' };
    throw error;
  }
};

/** Stores what the chain proved; another process may have stored the same. */
export const endRefund = async (
  { store, clock }: { store: Pick<Store, 'getRefund' | 'advanceRefund'>; clock: Clock },
  { id }: PaymentRefund,
  { outcome: to, reason }: Extract<TransferOutcome, { outcome: 'settled' | 'failed' }>,
): Promise<PaymentRefund> => {
  const moved = await moveRefund({ store, clock }, id, to, { reason });
  const refund = moved ?? (await store.getRefund(id));
  if (refund?.state !== to)
    throw new Error(`refund ${id} is ${to} by the chain and ${refund?.state ?? 'gone'} by the store`);
  return refund;
};

/** The limit for one question to the chain. */
const lookMs = 45_000;
const concurrency = 4;
const maxOpen = 10_000;

export interface RefundLook {
  /** The refund after the look. */
  refund: PaymentRefund;
  /** `landed`: a fork can still undo it. */
  outcome: 'settled' | 'landed' | 'failed' | 'open';
  /** Why it is open; null otherwise. */
  reason: string | null;
}

/**
 * Asks the chains about refunds that were sent, oldest first, and stores their ends. Needs no key and sends nothing.
 * Skips networks and tokens that are not configured. Throws what the store throws, and ConfigError, after it has asked
 * about the others.
 */
export const createRefundUpkeep =
  (context: {
    store: Pick<Store, 'listRefunds' | 'getPayment' | 'getRefund' | 'advanceRefund'>;
    networks: readonly RefundNetwork[];
    clock: Clock;
  }) =>
  async ({ limit, signal }: { limit: number; signal: AbortSignal }): Promise<RefundLook[]> => {
    const { store, networks, clock } = context;

    const lookAt = async (refund: PaymentRefund): Promise<RefundLook | null> => {
      const place = await openRefundPlace(networks, refund, () => clock.now());
      if (typeof place === 'string') return null;
      const payment = await store.getPayment(refund.payment);
      if (payment === null) throw new Error(`the payment of refund ${refund.id} is gone`);
      const transfer = toBegunTransfer(refund, payment);
      const found = await lookForTransfer(place.opened.chain, transfer, { lookMs, signal });
      if (found.outcome === 'open') return { refund, ...found };
      if (found.outcome === 'landed') return { refund, outcome: 'landed', reason: null };
      const ended = await endRefund(context, refund, found);
      return { refund: ended, outcome: found.outcome, reason: null };
    };

    // Planned refunds, and those on networks that are not configured, must not use up the limit.
    const open = await store.listRefunds({ payment: null, limit: maxOpen });
    const isKnown = new Set(networks.map(({ network }) => network));
    const queue = open
      .filter(({ state, network }) => state === 'sending' && isKnown.has(network))
      .slice(0, limit);
    const looks: RefundLook[] = [];
    const faults: unknown[] = [];
    const work = async (): Promise<void> => {
      for (let refund = queue.shift(); refund !== undefined && !signal.aborted; refund = queue.shift()) {
        try {
          const look = await lookAt(refund);
          if (look !== null) looks.push(look);
        } catch (error) {
          faults.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    if (faults.length > 0) throw faults[0];
    return looks;
  };
