import type { NewPaymentRefund, Payment, PaymentRefund, PlanRefundOutcome } from './store.ts';

export interface RefundPlanFacts {
  existing: PaymentRefund | null;
  payment: Payment | null;
  /** A refund of the payment that has no end yet. */
  open: PaymentRefund | null;
  /** What refunds that did not fail have taken. */
  refunded: bigint;
}

/**
 * Checks the payer, who may be a facilitator's word, against the signer in the identity. On EVM the identity is
 * `eip155:<chain>:<token>:<signer>:<nonce>`; on Solana, where it has three parts, it names no signer.
 */
const isNamedPayer = (identity: string, payer: string): boolean => {
  const [, , , signer] = identity.split(':');
  return signer === undefined || signer === payer.toLowerCase();
};

/** Whether a refund may be planned, and how much; the rules of both engines. */
export const judgeRefundPlan = (
  plan: NewPaymentRefund,
  { existing, payment, open, refunded }: RefundPlanFacts,
):
  | Exclude<PlanRefundOutcome, { outcome: 'planned' }>
  | { outcome: 'allowed'; payment: Payment; recipient: string; amount: bigint; isWhole: boolean } => {
  if (existing !== null) return { outcome: 'exists', refund: existing };
  if (payment === null) return { outcome: 'no_payment' };
  const isSettled = payment.state === 'settled' || payment.state === 'delivered';
  if (!isSettled && !(plan.acceptsUnknown && payment.state === 'unknown')) return { outcome: 'not_settled' };
  if (payment.payer === null) return { outcome: 'no_payer' };
  if (!isNamedPayer(payment.identity, payment.payer)) return { outcome: 'wrong_payer' };
  if (open !== null) return { outcome: 'open', refund: open };
  const left = payment.amount - refunded;
  const amount = plan.amount ?? left;
  if (amount <= 0n || amount > left) return { outcome: 'too_much', left };
  return { outcome: 'allowed', payment, recipient: payment.payer, amount, isWhole: amount === left };
};
