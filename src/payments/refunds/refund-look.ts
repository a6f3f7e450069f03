import type { Clock } from '../../kit/clock.ts';
import { isNodeTrouble } from '../chains/core/json-rpc.ts';
import type { BegunTransfer, RefundChain, TransferOutcome } from '../chains/core/refund-transfer.ts';
import type { Payment, PaymentRefund, Store } from '../../store/store.ts';
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
