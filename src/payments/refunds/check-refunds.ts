import type { Clock } from '../../kit/clock.ts';
import { isNodeTrouble } from '../chains/core/json-rpc.ts';
import type { BegunTransfer, RefundChain, TransferOutcome } from '../chains/core/refund-transfer.ts';
import type { Payment, PaymentRefund, Store } from '../../store/store.ts';
import { openRefundChain, type RefundNetwork } from './refund-chain.ts';
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

const queryMs = 45_000;

/** Asks the chain about a transfer. A node without a usable answer leaves it open. */
export const findTransfer = async (
  chain: RefundChain,
  transfer: BegunTransfer,
  { signal, timeoutMs = queryMs }: { signal: AbortSignal; timeoutMs?: number },
): Promise<TransferOutcome> => {
  try {
    return await chain.findOutcome(transfer, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
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

const concurrency = 4;
const maxOpen = 10_000;

export interface RefundCheck {
  refund: PaymentRefund;
  /** `landed`: a fork can still undo it. */
  outcome: TransferOutcome['outcome'];
  reason: string | null;
}

interface CheckContext {
  store: Pick<Store, 'listRefunds' | 'getPayment' | 'getRefund' | 'advanceRefund'>;
  networks: readonly RefundNetwork[];
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Asks the chains about refunds that were sent, oldest first, and stores their ends. Needs no key and sends nothing.
 * Skips networks and tokens that are not configured. Throws what the store throws, and ConfigError, after it has asked
 * about the others.
 */
export const checkRefunds = async (context: CheckContext & { limit: number }): Promise<RefundCheck[]> => {
  const { store, networks, signal, limit } = context;
  // Planned refunds, and those on networks that are not configured, must not use up the limit.
  const open = await store.listRefunds({ payment: null, limit: maxOpen });
  const isKnown = new Set(networks.map(({ network }) => network));
  const queue = open
    .filter(({ state, network }) => state === 'sending' && isKnown.has(network))
    .slice(0, limit);
  const checks: RefundCheck[] = [];
  const faults: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let refund = queue.shift(); refund !== undefined && !signal.aborted; refund = queue.shift()) {
      try {
        const checked = await checkRefund(context, refund);
        if (checked !== null) checks.push(checked);
      } catch (error) {
        faults.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  if (faults.length > 0) throw faults[0];
  return checks;
};

/** Null: its token is not configured. */
const checkRefund = async (context: CheckContext, refund: PaymentRefund): Promise<RefundCheck | null> => {
  const { store, networks, clock, signal } = context;
  const opened = await openRefundChain(networks, refund, { now: () => clock.now() });
  if (typeof opened === 'string') return null;
  const payment = await store.getPayment(refund.payment);
  if (payment === null) throw new Error(`the payment of refund ${refund.id} is gone`);
  const found = await findTransfer(opened.chain, toBegunTransfer(refund, payment), { signal });
  if (found.outcome === 'open') return { refund, ...found };
  if (found.outcome === 'landed') return { refund, outcome: 'landed', reason: null };
  return { refund: await endRefund(context, refund, found), outcome: found.outcome, reason: null };
};
