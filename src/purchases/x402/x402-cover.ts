import type { PaymentMethod } from '../../payments/core/challenge.ts';
import type { PaymentOrder } from '../../payments/core/facilitator.ts';
import type { PayingAccounts } from '../../payments/core/network-family.ts';
import type { Payment, VerifyPaymentOutcome } from '../../store/store.ts';
import { changeOf, whileLeased } from './move-payment.ts';
import {
  paymentInProgress,
  paymentUnavailable,
  paymentUncovered,
  tooManyOpen,
  tooManyReverts,
} from './x402-answers.ts';
import type { X402Context } from './x402-context.ts';
import { refuse, revertLimit } from './x402-settlement.ts';

/** One movement of a payer's money can revert all its open settlements, and the chain's fees for them are ours. */
const maxOpenPayments = 30;

/** The accounts that pay, and the one whose balance rises; null for none. */
type CreditedAccounts = PayingAccounts & { accountId: string | null };

/**
 * Marks a payment as verified if its source covers it together with all its other open payments: a chain shows each
 * of them the same money until the first one lands. Returns the reason code of a refusal, or null. Throws AppError when
 * the source may pay later. Frees the proof in both cases.
 */
export const cover = async (
  context: X402Context,
  payment: Payment,
  { order, method, accounts }: { order: PaymentOrder; method: PaymentMethod; accounts: CreditedAccounts },
): Promise<string | null> => {
  const { amount } = payment;
  const { source } = accounts;
  // The facilitator has checked that the money covers this payment alone.
  const alone = await storeVerified(context, payment, { accounts, funds: amount });
  if (alone.outcome === 'verified') return null;
  const funds = await whileLeased(context, payment, () => method.readFunds({ ...order, source }));
  if (funds === null) {
    await refuse(context, payment, 'rpc_unavailable');
    throw paymentUnavailable();
  }
  const beside = await storeVerified(context, payment, { accounts, funds });
  if (beside.outcome === 'verified') return null;
  await refuse(context, payment, 'insufficient_funds');
  // Payments that were sent may have left the balance already, and others may never be sent: only the unsent ones
  // prove that there is too little.
  if (amount + beside.unsent > funds) return 'insufficient_funds';
  throw paymentUncovered();
};

/** Frees the proof before it throws because of the payer's other payments. */
const storeVerified = async (
  context: X402Context,
  payment: Payment,
  { accounts, funds }: { accounts: CreditedAccounts; funds: bigint },
): Promise<Extract<VerifyPaymentOutcome, { outcome: 'verified' | 'uncovered' }>> => {
  const { store, clock, log } = context;
  const { source } = accounts;
  const { limit, withinMs } = revertLimit;
  const verified = await store.verifyPayment({
    change: changeOf(context, payment, ['verified', accounts]),
    source,
    funds,
    maxOpen: maxOpenPayments,
    reverts: { limit, since: clock.now() - withinMs },
  });
  if (verified === null) throw paymentInProgress();
  const { outcome } = verified;
  if (outcome === 'verified' || outcome === 'uncovered') return verified;
  await refuse(context, payment, outcome);
  log.warn({ payer: source, network: payment.network, reason: outcome }, 'a payer is refused for a while');
  throw outcome === 'too_many_open' ? tooManyOpen() : tooManyReverts(withinMs);
};
