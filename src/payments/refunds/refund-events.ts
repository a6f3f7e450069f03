import type { Clock } from '../../kit/clock.ts';
import type { PaymentRefund, PaymentRefundState, Store } from '../../store/store.ts';

export interface RefundEvent {
  from: readonly PaymentRefundState[];
  to: PaymentRefundState;
  /** The fields that come with it. A null leaves a field as it is. */
  sets: readonly ('sender' | 'transaction' | 'rawTransaction' | 'reason')[];
}

/**
 * Every step of a refund after `store.planRefund`. Nothing changes a refund between its signing and its end, so its
 * `updatedAt` is the time of the signing until then.
 */
export const refundEvents = {
  /** Its one transaction is signed, and is about to be sent. The store refuses it when nothing is owed any more. */
  signed: { from: ['planned'], to: 'sending', sets: ['sender', 'transaction', 'rawTransaction'] },
  /** No fork can take the transfer back. */
  settled: { from: ['sending'], to: 'settled', sets: ['reason'] },
  /** The chain proves that the transfer can never land. */
  failed: { from: ['sending'], to: 'failed', sets: ['reason'] },
  canceled: { from: ['planned'], to: 'failed', sets: ['reason'] },
} as const satisfies Record<string, RefundEvent>;

/** Moves a refund along one edge by compare-and-set. Null: its state is another by now, or nothing is owed. */
export const moveRefund = <E extends keyof typeof refundEvents>(
  { store, clock }: { store: Pick<Store, 'advanceRefund'>; clock: Clock },
  id: string,
  ...[event, set]: [E, Pick<PaymentRefund, (typeof refundEvents)[E]['sets'][number]>]
): Promise<PaymentRefund | null> => {
  const { from, to } = refundEvents[event];
  return store.advanceRefund({ id, from, to, set, now: clock.now() });
};
