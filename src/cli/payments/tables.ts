import type { PaymentView } from '../../operator/payments/payment-view.ts';
import type { RefundView } from '../../operator/payments/refund-view.ts';
import { ownPartOf } from '../../purchases/find-payments.ts';
import type { TokenTexts } from '../../purchases/token-amount.ts';
import { formatTable } from '../format-table.ts';

const shortLength = 18;

/** Shortens the identity of a payment; commands accept the short form. */
const shortName = (identity: string): string => ownPartOf({ identity }).slice(0, shortLength);

/** `0.10 USDC` */
export const amountOf = (
  { network, asset, amount_units: units }: Pick<PaymentView, 'network' | 'asset' | 'amount_units'>,
  { amountText }: TokenTexts,
): string => amountText({ network, asset, amount: BigInt(units) });

const paymentColumns = {
  PAYMENT: 'payment',
  STATE: 'state',
  AMOUNT: { right: 'amount' },
  NETWORK: 'network',
  CREATED: 'created_at',
  CHANGED: 'updated_at',
  PAYER: 'payer',
};

const refundColumns = {
  REFUND: 'refund',
  STATE: 'state',
  AMOUNT: { right: 'amount' },
  CREATED: 'created_at',
  PAYMENT: 'payment',
  TRANSACTION: 'transaction',
};

const tableOf =
  (columns: typeof paymentColumns | typeof refundColumns) =>
  (views: readonly (PaymentView | RefundView)[], tokens: TokenTexts): string =>
    formatTable(
      columns,
      views.map((view) => ({ ...view, payment: shortName(view.payment), amount: amountOf(view, tokens) })),
    );

export const paymentTable = tableOf(paymentColumns);
export const refundTable = tableOf(refundColumns);
