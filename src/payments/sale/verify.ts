import type { AppError } from '../../kit/errors.ts';
import type { PaymentMethod } from '../wire/challenge.ts';
import type { Payment, VerifyPaymentOutcome } from '../../store/store.ts';
import type { PaymentOrder } from '../chains/core/facilitator.ts';
import type { PayingAccounts } from '../chains/core/network-family.ts';
import { changeOf, whileLeased } from './move-payment.ts';
import { openWalletAccount } from '../records/wallet-account.ts';
import type { Credit, X402Context } from './context.ts';
import {
  accountSuspended,
  payerUnknown,
  paymentInProgress,
  paymentUnavailable,
  paymentUncovered,
  tooManyOpen,
  tooManyReverts,
} from './answers.ts';
import { toBegunPayment } from './record.ts';
import { revertLimit } from './settlement.ts';
import { riskOf, type UptoSale } from './upto.ts';

/** Why a proof buys nothing. */
interface Refused {
  outcome: 'refused';
  /** A stable code that may be shown. */
  reason: string;
  /** Absent: the buyer gets the terms. */
  error?: AppError;
  /** Only the scheme `exact` is offered to this payer now. */
  isExactOnly?: true;
}

type Verification = { outcome: 'verified'; payment: Payment } | Refused;

const refused = (reason: string, more: Pick<Refused, 'error' | 'isExactOnly'> = {}): Refused => ({
  outcome: 'refused',
  reason,
  ...more,
});

interface Asked {
  method: PaymentMethod;
  signed: PaymentOrder;
  credit: Credit | undefined;
  /** Null for the scheme `exact`. */
  upto: UptoSale | null;
  /** The signal of the request, which aborts the calls. */
  signal: AbortSignal;
}

/** The accounts that pay, and the one whose balance rises; null for none. `client`: only for the scheme `upto`. */
type CreditedAccounts = PayingAccounts & Pick<Payment, 'accountId'> & { client: string | undefined };

/** One movement of a payer's money can revert all its open settlements, and the chain's fees for them are ours. */
const maxOpenPayments = 30;
/** One with the scheme `upto` included: the same movement makes calls free whose work is done. */
const maxOpenWithUpto = 2;

const noTransfer = 'invalid_exact_svm_payload_no_transfer_instruction';

/**
 * Asks the facilitator, and then whether the account that pays covers all its payments; marks the payment as verified.
 * Finds the account whose balance it raises, too.
 */
export const verify = async (context: X402Context, payment: Payment, asked: Asked): Promise<Verification> => {
  const { method, upto, signed } = asked;
  const refusal = await askFacilitator(context, payment, asked);
  if (refusal !== null) return refusal;
  const accounts = await method.network.family.findPayingAccounts(signed);
  if (accounts === null) return refused(noTransfer);
  const credited = await whileLeased(context, payment, () =>
    findCredited(context, payment, { ...asked, accounts }),
  );
  if ('outcome' in credited) return credited;
  const covered = await cover(context, payment, {
    ...asked,
    accounts: { ...accounts, ...credited, client: upto?.client },
  });
  if (covered.outcome === 'refused' || upto === null) return covered;
  // An earlier payment may have used the permit, or the money, since the facilitator was asked.
  return (await askFacilitator(context, covered.payment, asked)) ?? covered;
};

const askFacilitator = async (
  context: X402Context,
  payment: Payment,
  { method, signal, signed }: Asked,
): Promise<Refused | null> => {
  const verified = await whileLeased(context, payment, () =>
    method.facilitator.verify(toBegunPayment(payment, { ...context, signed }), signal),
  );
  if (verified.outcome === 'valid') return null;
  const { outcome, reason } = verified;
  return refused(reason, outcome === 'unavailable' ? { error: paymentUnavailable() } : {});
};

/** Finds the account whose balance the payment raises; null for none. */
const findCredited = async (
  context: X402Context,
  payment: Payment,
  { credit, method, signed, accounts: { payer } }: Asked & { accounts: PayingAccounts },
): Promise<{ accountId: string | null } | Refused> => {
  if (credit === undefined || credit.accountId !== null) return { accountId: payment.accountId };
  if (payer === null) return refused('payer_unknown', { error: payerUnknown() });
  const wallet = await method.findWallet({ address: payer, payload: signed.payload.payload });
  if (wallet === null) return refused('rpc_unavailable', { error: paymentUnavailable() });
  const account = await openWalletAccount(context, { wallet, isSandbox: credit.isSandbox });
  return account.status === 'active'
    ? { accountId: account.id }
    : refused('account_suspended', { error: accountSuspended() });
};

/**
 * Marks a payment as verified if its source covers it together with all its other open payments: a chain shows each
 * of them the same money until the first one lands.
 */
const cover = async (
  context: X402Context,
  payment: Payment,
  { method, signed, accounts }: Pick<Asked, 'method' | 'signed'> & { accounts: CreditedAccounts },
): Promise<Verification> => {
  const { amount, asset } = payment;
  const { source } = accounts;
  // The facilitator has checked that the money covers this payment alone.
  const alone = await storeVerified(context, payment, { accounts, funds: amount });
  if (alone.outcome !== 'uncovered') return alone;
  const { payload } = signed.payload;
  const funds = await whileLeased(context, payment, () => method.readFunds({ source, asset, payload }));
  if (funds === null) return refused('rpc_unavailable', { error: paymentUnavailable() });
  const beside = await storeVerified(context, payment, { accounts, funds });
  if (beside.outcome !== 'uncovered') return beside;
  // Permits for Permit2 have sequential nonces: of two that are signed at once, one is lost.
  if (accounts.client !== undefined) return refused('upto_payments_open', { isExactOnly: true });
  // Payments that were sent may have left the balance already, and others may never be sent: only the unsent ones
  // prove that there is too little.
  return refused('insufficient_funds', amount + beside.unsent > funds ? {} : { error: paymentUncovered() });
};

const storeVerified = async (
  context: X402Context,
  payment: Payment,
  { accounts, funds }: { accounts: CreditedAccounts; funds: bigint },
): Promise<Extract<VerifyPaymentOutcome, { outcome: 'verified' | 'uncovered' }> | Refused> => {
  const { store, clock, log } = context;
  const { source, accountId, client } = accounts;
  const now = clock.now();
  const { limit, withinMs } = revertLimit;
  const verified = await store.verifyPayment({
    change: changeOf(context, payment, ['verified', accounts]),
    source,
    funds,
    maxOpen: client === undefined ? maxOpenPayments : maxOpenWithUpto,
    reverts: { limit, since: now - withinMs },
    risk: client === undefined ? null : riskOf({ client, accountId, now }),
  });
  if (verified === null) throw paymentInProgress();
  const { outcome } = verified;
  if (outcome === 'verified' || outcome === 'uncovered') return verified;
  if (outcome === 'too_risky') return refused('upto_not_trusted', { isExactOnly: true });
  if (client !== undefined && outcome === 'too_many_open')
    return refused('upto_payments_open', { isExactOnly: true });
  log.warn({ payer: source, network: payment.network, reason: outcome }, 'a payer is refused for a while');
  return refused(outcome, {
    error: outcome === 'too_many_open' ? tooManyOpen() : tooManyReverts(withinMs),
  });
};
