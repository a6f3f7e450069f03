import type {
  Payment,
  PaymentState,
  SettleUncheckedInput,
  VerifyPaymentInput,
  VerifyPaymentOutcome,
} from './store.ts';

const sumOf = (amounts: { amount: bigint }[]): bigint =>
  amounts.reduce((total, { amount }) => total + amount, 0n);

/** An open payment. */
interface Open {
  state: PaymentState;
  amount: bigint;
  leaseUntil: number | null;
}

const isUnsent = ({ state, leaseUntil }: Open, now: number): boolean =>
  (state === 'verified' || state === 'produced') && leaseUntil !== null && leaseUntil > now;

/** A proof that was not handed in for so long never will be: EVM authorizations and blockhashes are long dead. */
export const neverSettledMs = 24 * 3_600_000;

/** The open payments that count beside one that is to be verified. */
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

/** What keeps `funds` from covering a payment beside the other open ones of its source; null for nothing. */
export const findUncovered = (
  { funds, change: { now } }: VerifyPaymentInput,
  { payment, open }: { payment: Payment; open: Open[] },
): Extract<VerifyPaymentOutcome, { outcome: 'uncovered' }> | null => {
  const unsent = sumOf(open.filter((one) => isUnsent(one, now)));
  const sent = sumOf(open) - unsent;
  return payment.amount + unsent + sent <= funds ? null : { outcome: 'uncovered', unsent, sent };
};

/** A transaction as it is looked up. Two tell whether it is known of another payment. */
export const toLookup = ({ transaction }: SettleUncheckedInput): { transaction: string; limit: number } => ({
  transaction: transaction.startsWith('0x') ? transaction.toLowerCase() : transaction,
  limit: 2,
});

/** Whether a facilitator's word may settle a payment. */
export const maySettleUnchecked = (
  { change: { identity }, limit }: SettleUncheckedInput,
  { payment, named, unchecked }: { payment: Payment; named: Payment[]; unchecked: { amount: bigint }[] },
): boolean =>
  named.every((other) => other.identity === identity) && sumOf(unchecked) + payment.amount <= limit;
