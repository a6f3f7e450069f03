import type { AppError } from '../../kit/errors.ts';
import type { PaymentMethod } from '../../payments/core/challenge.ts';
import type { Payment, VerifyPaymentOutcome } from '../../store/store.ts';
import type { PayingAccounts } from '../../payments/core/network-family.ts';
import { changeOf, whileLeased } from './move-payment.ts';
import { paymentInProgress, paymentUnavailable, paymentUncovered } from './x402-answers.ts';
import type { X402Context } from './x402-context.ts';
import { toBegunPayment } from './x402-record.ts';
import { mayPayAfterwards } from './x402-upto.ts';

/** Why a proof buys nothing. */
export interface Refusal {
  /** A stable code that may be shown. */
  reason: string;
  /** Nothing is known about the proof; absent: the buyer gets the terms. */
  error?: AppError;
  /** Only the scheme `exact` is offered to this payer now. */
  isExactOnly?: true;
}

interface Asked {
  method: PaymentMethod;
  /** Of the request. */
  signal: AbortSignal;
}

const noTransfer = 'invalid_exact_svm_payload_no_transfer_instruction';

/**
 * Asks the facilitator, and then whether the account that pays covers all its payments; marks the payment as verified.
 * Returns the refusal, or null.
 */
export const verify = async (
  context: X402Context,
  payment: Payment,
  asked: Asked,
): Promise<Refusal | null> => {
  const begun = toBegunPayment(payment, context.resources);
  const isUpto = begun.requirements.scheme === 'upto';
  const ask = async (): Promise<Refusal | null> => {
    const verified = await whileLeased(context, payment, () =>
      asked.method.facilitator.verify(begun, asked.signal),
    );
    if (verified.outcome === 'valid') return null;
    const { outcome, reason } = verified;
    return outcome === 'unavailable' ? { reason, error: paymentUnavailable() } : { reason };
  };
  const refused = await ask();
  if (refused !== null) return refused;
  const accounts = await asked.method.network.family.findPayingAccounts(begun);
  if (accounts === null) return { reason: noTransfer };
  if (isUpto && !(await mayPayAfterwards(context, accounts.source)))
    return { reason: 'upto_not_trusted', isExactOnly: true };
  const uncovered = await cover(context, payment, { method: asked.method, accounts, isUpto });
  // An earlier payment may have used the permit, or the money, since the facilitator was asked.
  return uncovered ?? (isUpto ? ask() : null);
};

/**
 * Marks a payment as verified if its source covers it together with all its other open payments: a chain shows each
 * of them the same money until the first one lands. Returns the refusal, or null.
 */
const cover = async (
  context: X402Context,
  payment: Payment,
  { method, accounts, isUpto }: { method: PaymentMethod; accounts: PayingAccounts; isUpto: boolean },
): Promise<Refusal | null> => {
  const { amount, asset } = payment;
  const { source } = accounts;
  // The facilitator has checked that the money covers this payment alone.
  const alone = await storeVerified(context, payment, { accounts, funds: amount });
  if (alone.outcome === 'verified') return null;
  const { payload } = toBegunPayment(payment, context.resources).payload;
  const funds = await whileLeased(context, payment, () => method.readFunds({ source, asset, payload }));
  if (funds === null) return { reason: 'rpc_unavailable', error: paymentUnavailable() };
  const beside = await storeVerified(context, payment, { accounts, funds });
  if (beside.outcome === 'verified') return null;
  // Permits for Permit2 have sequential nonces: of two that are signed at once, one is lost.
  if (isUpto) return { reason: 'upto_payments_open', isExactOnly: true };
  const reason = 'insufficient_funds';
  // Payments that were sent may have left the balance already, and others may never be sent: only the unsent ones
  // prove that there is too little.
  return amount + beside.unsent > funds ? { reason } : { reason, error: paymentUncovered() };
};

const storeVerified = async (
  context: X402Context,
  payment: Payment,
  { accounts, funds }: { accounts: PayingAccounts; funds: bigint },
): Promise<VerifyPaymentOutcome> => {
  const change = changeOf(context, payment, ['verified', accounts]);
  const verified = await context.store.verifyPayment({ change, source: accounts.source, funds });
  if (verified === null) throw paymentInProgress();
  return verified;
};
