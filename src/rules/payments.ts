import type { Nano } from '../kit/money.ts';

/**
 * The states of an x402 payment. reserved: the proof is claimed, nothing was asked yet. verified: the facilitator
 * accepts it. produced: the result is stored. broadcasting: the settlement may be under way (its hash is stored if
 * known). settled: the chain has it. delivered: the buyer got the answer. rejected: verification refused it. failed:
 * proven not to have happened. unknown: it may have happened; only the chain can tell.
 */
export const paymentStates = [
  'reserved',
  'verified',
  'produced',
  'broadcasting',
  'settled',
  'delivered',
  'rejected',
  'failed',
  'unknown',
] as const;
export type PaymentState = (typeof paymentStates)[number];

export const openStates: readonly PaymentState[] = [
  'reserved',
  'verified',
  'produced',
  'broadcasting',
  'unknown',
];

/** After this time an open payment can never be settled: its EVM authorization or Solana blockhash has expired. */
export const neverSettledMs = 24 * 3_600_000;

/**
 * The states of a payment by card. open: nothing is paid yet. paid: the money came as it was asked for. expired, failed:
 * it does not come. mismatch: other money came than was asked for, and nothing is credited.
 */
export const cardPaymentStates = ['open', 'paid', 'expired', 'failed', 'mismatch'] as const;
export type CardPaymentState = (typeof cardPaymentStates)[number];

/**
 * checkout: a person pays on a page of Stripe. saving: likewise, and the card is saved for automatic top-ups. automatic:
 * the saved card is charged because the balance was low.
 */
export const cardPaymentKinds = ['checkout', 'saving', 'automatic'] as const;
export type CardPaymentKind = (typeof cardPaymentKinds)[number];

/** needs_card: no card is saved yet. stopped: no more attempts, until the customer starts it again. */
export const autoTopUpStates = ['off', 'needs_card', 'on', 'stopped'] as const;
export type AutoTopUpState = (typeof autoTopUpStates)[number];

/**
 * Why automatic top-ups stopped. authentication_required: the bank wants the person to confirm. payment_failed: the card
 * was not charged. taken_back: a payment by card was refunded or disputed.
 */
export const autoTopUpStops = ['authentication_required', 'payment_failed', 'taken_back'] as const;
export type AutoTopUpStop = (typeof autoTopUpStops)[number];

interface Amounts {
  /** What the buyer signed, in the asset's smallest unit. */
  amount: bigint;
  /** What the settlement takes; null before that is known, and where all of `amount` is taken. */
  settledAmount: bigint | null;
}

/** Returns what a settlement takes. Before that is known, it is the whole amount. */
export const amountOf = ({ amount, settledAmount }: Amounts): bigint => settledAmount ?? amount;

interface CreditOfPayment extends Amounts {
  state: PaymentState;
  credit: Nano | null;
  /** The ledger entry that raised the balance, as long as the payment counts as made. */
  creditEntry: string | null;
}

/** Whether a payment counts as made. While its outcome is unknown, it counts as it did before. */
export const isMade = ({ state, creditEntry }: Pick<CreditOfPayment, 'state' | 'creditEntry'>): boolean =>
  state === 'settled' || state === 'delivered' || (state !== 'failed' && creditEntry !== null);

/**
 * Returns the amount by which a payment shall have raised the balance of its account: its credit less the share that is
 * refunded to the chain, rounded up; nothing for a payment that was not made.
 */
export const owedCredit = (payment: CreditOfPayment, refunded: bigint): Nano => {
  const amount = amountOf(payment);
  const credit = payment.credit ?? 0n;
  if (!isMade(payment)) return 0n;
  return refunded === 0n ? credit : credit - (credit * refunded + amount - 1n) / amount;
};
