import type { AppError } from '../../kit/errors.ts';
import type { PaymentMethod } from '../wire/challenge.ts';
import type { Payment, VerifyPaymentOutcome } from '../../store/store.ts';
import type { PaymentOrder } from '../chains/core/facilitator.ts';
import type { PayingAccounts } from '../chains/core/network-family.ts';
import { changeOf, whileLeased } from './move-payment.ts';
import { openWalletAccount } from '../records/wallet-account.ts';
import type { Credit, SaleContext } from './context.ts';
import { refusals } from './answers.ts';
import { toBegunPayment } from './record.ts';
import { revertLimit } from './settlement.ts';
import type { Scheme } from './scheme.ts';

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
  scheme: Scheme;
  signal: AbortSignal;
}

type CreditedAccounts = PayingAccounts & Pick<Payment, 'accountId'>;

const noTransfer = 'invalid_exact_svm_payload_no_transfer_instruction';

/** Asks the facilitator, and then whether the account that pays covers all its payments. */
export const verify = async (context: SaleContext, payment: Payment, asked: Asked): Promise<Verification> => {
  const { method, scheme, signed } = asked;
  const refusal = await askFacilitator(context, payment, asked);
  if (refusal !== null) return refusal;
  const accounts = await method.network.family.findPayingAccounts(signed);
  if (accounts === null) return refused(noTransfer);
  const credited = await whileLeased(context, payment, () =>
    findCredited(context, payment, { ...asked, accounts }),
  );
  if ('outcome' in credited) return credited;
  const covered = await cover(context, payment, { ...asked, accounts: { ...accounts, ...credited } });
  if (covered.outcome === 'refused' || !scheme.isVerifiedTwice) return covered;
  // An earlier payment may have used the permit, or the money, since the facilitator was asked.
  return (await askFacilitator(context, covered.payment, asked)) ?? covered;
};

const askFacilitator = async (
  context: SaleContext,
  payment: Payment,
  { method, signal, signed }: Asked,
): Promise<Refused | null> => {
  const verified = await whileLeased(context, payment, () =>
    method.facilitator.verify(toBegunPayment(payment, { ...context, signed }), signal),
  );
  if (verified.outcome === 'valid') return null;
  const { outcome, reason } = verified;
  return refused(reason, outcome === 'unavailable' ? { error: refusals.unavailable() } : {});
};

const findCredited = async (
  context: SaleContext,
  payment: Payment,
  { credit, method, signed, accounts: { payer } }: Asked & { accounts: PayingAccounts },
): Promise<{ accountId: string | null } | Refused> => {
  if (credit === undefined || credit.accountId !== null) return { accountId: payment.accountId };
  if (payer === null) return refused('payer_unknown', { error: refusals.payerUnknown() });
  const wallet = await method.findWallet({ address: payer, payload: signed.payload.payload });
  if (wallet === null) return refused('rpc_unavailable', { error: refusals.unavailable() });
  const account = await openWalletAccount(context, { wallet, isSandbox: credit.isSandbox });
  return account.status === 'active'
    ? { accountId: account.id }
    : refused('account_suspended', { error: refusals.accountSuspended() });
};

/** Counts the source's other open payments: a chain shows each of them the same money until the first one lands. */
const cover = async (
  context: SaleContext,
  payment: Payment,
  asked: Asked & { accounts: CreditedAccounts },
): Promise<Verification> => {
  const { method, signed, scheme, accounts } = asked;
  const { amount, asset } = payment;
  const { source } = accounts;
  // The facilitator has checked that the money covers this payment alone.
  const alone = await storeVerified(context, payment, { ...asked, funds: amount });
  if (alone.outcome !== 'uncovered') return alone;
  const { payload } = signed.payload;
  const funds = await whileLeased(context, payment, () => method.readFunds({ source, asset, payload }));
  if (funds === null) return refused('rpc_unavailable', { error: refusals.unavailable() });
  const beside = await storeVerified(context, payment, { ...asked, funds });
  if (beside.outcome !== 'uncovered') return beside;
  if (scheme.exactOnly.uncovered !== undefined)
    return refused(scheme.exactOnly.uncovered, { isExactOnly: true });
  // Payments that were sent may have left the balance already, and others may never be sent: only the unsent ones
  // prove that there is too little.
  return refused('insufficient_funds', amount + beside.unsent > funds ? {} : { error: refusals.uncovered() });
};

const storeVerified = async (
  context: SaleContext,
  payment: Payment,
  { accounts, scheme, funds }: Pick<Asked, 'scheme'> & { accounts: CreditedAccounts; funds: bigint },
): Promise<Extract<VerifyPaymentOutcome, { outcome: 'verified' | 'uncovered' }> | Refused> => {
  const { store, clock, log } = context;
  const { source, accountId } = accounts;
  const now = clock.now();
  const { limit, withinMs } = revertLimit;
  const verified = await store.verifyPayment({
    change: changeOf(context, payment, ['verified', { ...accounts, client: scheme.client }]),
    source,
    funds,
    maxOpen: scheme.maxOpen,
    reverts: { limit, since: now - withinMs },
    risk: scheme.riskOf({ accountId, now }),
  });
  if (verified === null) throw refusals.inProgress();
  const { outcome } = verified;
  if (outcome === 'verified' || outcome === 'uncovered') return verified;
  const reason = scheme.exactOnly[outcome];
  if (reason !== undefined) return refused(reason, { isExactOnly: true });
  log.warn({ payer: source, network: payment.network, reason: outcome }, 'a payer is refused for a while');
  return refused(outcome, {
    error: outcome === 'too_many_open' ? refusals.tooManyOpen() : refusals.tooManyReverts(withinMs),
  });
};
