import type {
  Payment,
  PaymentState,
  SettleUncheckedInput,
  VerifyPaymentInput,
  VerifyPaymentOutcome,
} from './store.ts';

const sumOf = (amounts: { amount: bigint }[]): bigint =>
  amounts.reduce((total, { amount }) => total + amount, 0n);

interface Open {
  state: PaymentState;
  amount: bigint;
  leaseUntil: number | null;
}

const isUnsent = ({ state, leaseUntil }: Open, now: number): boolean =>
  (state === 'verified' || state === 'produced') && leaseUntil !== null && leaseUntil > now;

/** After this time an open payment can never be settled: its EVM authorization or Solana blockhash has expired. */
export const neverSettledMs = 24 * 3_600_000;

/** Makes the query for the other open payments that count when a payment is verified. */
export const toOpenOf = (
  { source, change: { now } }: VerifyPaymentInput,
  { identity, network, asset }: Payment,
): { identity: string; source: string; network: string; asset: string; since: number } => ({
  identity,
  source,
  network,
  asset,
  since: now - neverSettledMs,
});

/** Returns null if `funds` cover the payment and the other open payments of its source. */
export const findUncovered = (
  { funds, change: { now } }: VerifyPaymentInput,
  { payment, open }: { payment: Payment; open: Open[] },
): Extract<VerifyPaymentOutcome, { outcome: 'uncovered' }> | null => {
  const unsent = sumOf(open.filter((one) => isUnsent(one, now)));
  const sent = sumOf(open) - unsent;
  return payment.amount + unsent + sent <= funds ? null : { outcome: 'uncovered', unsent, sent };
};

/** Makes the look-up of a transaction. Two rows are enough to find another payment with it. */
export const toLookup = ({ transaction }: SettleUncheckedInput): { transaction: string; limit: number } => ({
  transaction: transaction.startsWith('0x') ? transaction.toLowerCase() : transaction,
  limit: 2,
});

/** True if a facilitator's claim may settle a payment: no other payment has the transaction, and the limit holds. */
export const maySettleUnchecked = (
  { change: { identity }, limit }: SettleUncheckedInput,
  { payment, named, unchecked }: { payment: Payment; named: Payment[]; unchecked: { amount: bigint }[] },
): boolean =>
  named.every((other) => other.identity === identity) && sumOf(unchecked) + payment.amount <= limit;
