import { toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { ownPartOf } from '../../purchases/find-payments.ts';
import { formatTokenAmount, type FindToken } from '../../purchases/token-amount.ts';
import type { Payment, PaymentRefund } from '../../store/store.ts';
import { formatTable } from '../format-table.ts';

interface AssetAmount {
  network: string;
  asset: string;
  amount: bigint;
}

const isoOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : toIso(epochMs));

const shortLength = 18;

/** Enough of a payment's identity to be named by. */
const shortName = (payment: Pick<Payment, 'identity'>): string => ownPartOf(payment).slice(0, shortLength);

/** How payments and refunds are shown, their amounts by the tokens that are known. */
export interface PaymentViews {
  /** `0.10 USDC`, or a number of smallest units where the token is not known. */
  amountText(of: AssetAmount): string;
  paymentJson(payment: Payment): JsonObject;
  refundJson(refund: PaymentRefund): JsonObject;
  paymentTable(payments: readonly Payment[]): string;
  refundTable(refunds: readonly PaymentRefund[]): string;
}

export const createPaymentViews = (findToken: FindToken): PaymentViews => {
  /** `0.10 USDC`, or a number of smallest units where the token is not known. */
  const amountText = (of: AssetAmount): string => {
    const token = findToken(of);
    return token === null
      ? `${of.amount} units of ${of.asset}`
      : `${formatTokenAmount(of.amount, token.decimals)} ${token.symbol}`;
  };

  /** As a decimal of the token, null where it is not known; and in the smallest unit. */
  const amountJson = (of: AssetAmount): { amount: string | null; amount_units: string } => {
    const token = findToken(of);
    return {
      amount: token === null ? null : formatTokenAmount(of.amount, token.decimals),
      amount_units: of.amount.toString(),
    };
  };

  /** Neither the proof nor the signed transaction, which others could send, nor what was sold. */
  const paymentJson = (payment: Payment): JsonObject => ({
    payment: payment.identity,
    state: payment.state,
    network: payment.network,
    asset: payment.asset,
    ...amountJson(payment),
    payer: payment.payer,
    pay_to: payment.payTo,
    transaction: payment.transaction,
    unchecked: payment.isUnchecked,
    reason: payment.reason,
    facilitator: payment.facilitator,
    payment_id: payment.paymentId,
    created_at: toIso(payment.createdAt),
    updated_at: toIso(payment.updatedAt),
    settled_at: isoOrNull(payment.settledAt),
  });

  const refundJson = (refund: PaymentRefund): JsonObject => ({
    refund: refund.id,
    payment: refund.payment,
    state: refund.state,
    network: refund.network,
    asset: refund.asset,
    ...amountJson(refund),
    recipient: refund.recipient,
    sender: refund.sender,
    transaction: refund.transaction,
    reason: refund.reason,
    note: refund.note,
    created_at: toIso(refund.createdAt),
    updated_at: toIso(refund.updatedAt),
  });

  const paymentTable = (payments: readonly Payment[]): string =>
    formatTable(
      [
        { title: 'PAYMENT' },
        { title: 'STATE' },
        { title: 'AMOUNT', align: 'right' },
        { title: 'NETWORK' },
        { title: 'CREATED' },
        { title: 'CHANGED' },
        { title: 'PAYER' },
      ],
      payments.map((payment) => [
        shortName(payment),
        payment.state,
        amountText(payment),
        payment.network,
        toIso(payment.createdAt),
        toIso(payment.updatedAt),
        payment.payer ?? '-',
      ]),
    );

  const refundTable = (refunds: readonly PaymentRefund[]): string =>
    formatTable(
      [
        { title: 'REFUND' },
        { title: 'STATE' },
        { title: 'AMOUNT', align: 'right' },
        { title: 'CREATED' },
        { title: 'PAYMENT' },
        { title: 'TRANSACTION' },
      ],
      refunds.map((refund) => [
        refund.id,
        refund.state,
        amountText(refund),
        toIso(refund.createdAt),
        shortName({ identity: refund.payment }),
        refund.transaction ?? '-',
      ]),
    );

  return { amountText, paymentJson, refundJson, paymentTable, refundTable };
};
