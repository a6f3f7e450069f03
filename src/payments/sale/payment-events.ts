import type { AdvancePaymentInput, Payment } from '../../store/store.ts';
import type { PaymentState } from '../../rules/payments.ts';

type Field = Exclude<keyof NonNullable<AdvancePaymentInput['set']>, 'leaseOwner' | 'leaseUntil' | 'checkAt'>;

export interface PaymentEvent {
  from: readonly PaymentState[];
  /** The state afterwards; null: it stays as it is. */
  to: PaymentState | null;
  /**
   * `holder`: the process with the lease, as long as it has it. `finder`: a process that found the payment without a
   * live lease, if state and lease are still as it read them. `anybody`: a fact of the chain; it needs no lease.
   */
  by: 'holder' | 'finder' | 'anybody';
  /**
   * What happens to the lease, and when the reconciler looks at the payment.
   * - `take`, `work`: a process takes or extends the lease; a check when it runs out
   * - `pause`: the lease runs out now, and keeps its name, which the process that takes it next compares; a check soon
   * - `wait`, `last_check`, `end`: no lease; a check soon, or when no fork can undo what the chain said, or never
   * - `later`: the lease is kept; a check soon
   * - `keep`: both stay as they are
   */
  next: 'take' | 'work' | 'pause' | 'wait' | 'last_check' | 'end' | 'later' | 'keep';
  /** The fields that come with it. A process gives `undefined` for one that it leaves as it is. */
  sets: readonly Field[];
  writes?: Partial<Pick<Payment, Field>>;
  /** Leaves `updatedAt` as it is, because the payment is what it was. */
  isQuiet?: true;
}

const begun = ['produced', 'broadcasting'] as const;

/**
 * Every step of an x402 payment. Each is one compare-and-set in the store, and durable before the outside effect that
 * follows it. The step before all of them is `store.reservePayment`, for a new proof or a rejected one.
 */
export const paymentEvents = {
  /** The facilitator accepts the proof, and its account covers all that is open. */
  verified: {
    from: ['reserved'],
    to: 'verified',
    by: 'holder',
    next: 'work',
    sets: ['payer', 'source', 'accountId', 'client'],
  },
  /** The answer is stored. So are the amount and the credit, if less than the whole is taken. Nothing was sent. */
  produced: {
    from: ['verified'],
    to: 'produced',
    by: 'holder',
    next: 'work',
    sets: ['result', 'settledAmount', 'credit'],
  },
  /** The proof bought nothing and may come again. */
  refused: { from: ['reserved', 'verified'], to: 'rejected', by: 'holder', next: 'end', sets: ['reason'] },
  /** A process died before it had an answer. */
  interrupted: {
    from: ['reserved', 'verified'],
    to: 'rejected',
    by: 'finder',
    next: 'end',
    sets: [],
    writes: { reason: 'interrupted' },
  },

  /** A settlement is about to be sent. */
  sent: {
    from: begun,
    to: 'broadcasting',
    by: 'holder',
    next: 'work',
    sets: ['transaction', 'rawTransaction', 'facilitator'],
  },
  /** The chain has it. */
  settled: {
    from: ['produced', 'broadcasting', 'unknown', 'failed'],
    to: 'settled',
    by: 'anybody',
    next: 'last_check',
    sets: ['transaction', 'receipt', 'settledAt'],
    writes: { reason: null },
  },
  /** It is proven that the settlement did not happen. */
  failed: {
    from: begun,
    to: 'failed',
    by: 'holder',
    next: 'last_check',
    sets: ['reason', 'transaction', 'reverts'],
  },
  /** The same, proven later, when no process works on the payment. */
  disproved: {
    from: ['produced', 'broadcasting', 'unknown'],
    to: 'failed',
    by: 'finder',
    next: 'last_check',
    sets: ['reason'],
  },
  /** The settlement may have happened. */
  doubted: {
    from: begun,
    to: 'unknown',
    by: 'holder',
    next: 'wait',
    sets: ['reason', 'transaction', 'reverts'],
  },
  /** A process died when it may have sent the settlement. */
  abandoned: { from: ['broadcasting'], to: 'unknown', by: 'finder', next: 'wait', sets: ['reason'] },
  /** The chain has lost the transaction of a served payment. */
  vanished: {
    from: ['settled', 'delivered'],
    to: 'unknown',
    by: 'finder',
    next: 'wait',
    sets: [],
    writes: { reason: 'gone_from_chain', settledAt: null },
  },
  delivered: { from: ['settled'], to: 'delivered', by: 'anybody', next: 'keep', sets: [] },

  /** The buyer repeats a proof that was not sent to the chain; or the settlement of a metered call goes on. */
  continued: { from: ['produced'], to: null, by: 'finder', next: 'take', sets: [] },
  /** The buyer came back when a settlement may have been sent. */
  resumed: { from: ['broadcasting', 'unknown'], to: 'broadcasting', by: 'finder', next: 'take', sets: [] },
  /** Nothing was sent, and the buyer may come back for the stored answer. */
  paused: { from: ['produced'], to: null, by: 'holder', next: 'pause', sets: [] },
  /** The process goes on with its work. */
  renewed: { from: ['reserved', 'verified', ...begun], to: null, by: 'holder', next: 'work', sets: [] },
  /** A check found nothing new. */
  postponed: {
    from: ['reserved', 'verified', ...begun, 'unknown', 'settled', 'delivered', 'failed'],
    to: null,
    by: 'finder',
    next: 'later',
    sets: [],
    isQuiet: true,
  },
  /** Nothing can change any more. */
  closed: {
    from: ['settled', 'delivered', 'rejected', 'failed'],
    to: null,
    by: 'finder',
    next: 'end',
    sets: [],
    isQuiet: true,
  },
} as const satisfies Record<string, PaymentEvent>;

export type PaymentEventName = keyof typeof paymentEvents;

export type EventFields<E extends PaymentEventName> = {
  [F in (typeof paymentEvents)[E]['sets'][number]]: Payment[F] | undefined;
};
