import { ConfigError } from '../../kit/errors.ts';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { findPayments, ownPartOf, shortestPrefix } from '../../purchases/find-payments.ts';
import { createFindToken, formatTokenAmount, type FindToken } from '../../purchases/token-amount.ts';
import type { Payment, PaymentRefund, Store } from '../../store/store.ts';
import type { Session } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { formatTable } from '../format-table.ts';

/** Above the number of refunds that a payment can have. */
export const maxRefunds = 1_000;

/** Finds the one payment with this identity, transaction, or beginning of either. Throws CommandError. */
export const requirePayment = async (store: Store, given: string): Promise<Payment> => {
  const [payment, ...others] = await findPayments(store, given);
  const shown = JSON.stringify(given.length > 200 ? `${given.slice(0, 80)}…` : given);
  if (payment === undefined)
    throw new CommandError(
      'payment_not_found',
      `There is no payment ${shown}. Give an identity, a transaction, or at least the first ${shortestPrefix} ` +
        'characters of one.',
    );
  if (others.length > 0)
    throw new CommandError(
      'payment_ambiguous',
      `More than one payment begins with ${shown}: ${[payment, ...others].map(({ identity }) => identity).join(', ')}`,
    );
  return payment;
};

const pageSize = 200;

type Wanted = Parameters<Store['listPayments']>[0];

/** Reads payments, newest first, page by page, so that no read of the store is large. */
export const readPayments = async function* (
  store: Store,
  wanted: Omit<Wanted, 'limit'>,
): AsyncGenerator<Payment> {
  let before = wanted.before;
  for (;;) {
    const page: Payment[] = await store.listPayments({ ...wanted, before, limit: pageSize });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    before = { createdAt: last.createdAt, identity: last.identity };
  }
};

interface AssetAmount {
  network: string;
  asset: string;
  amount: bigint;
}

const shortLength = 18;

/** Shortens the identity of a payment; commands accept the short form. */
const shortName = (identity: string): string => ownPartOf({ identity }).slice(0, shortLength);

export type PaymentViews = ReturnType<typeof createPaymentViews>;

/** Creates renderers of payments and refunds, with amounts in the tokens that are known. */
export const createPaymentViews = (findToken: FindToken) => {
  /** `0.10`, null for an unknown token. */
  const tokenAmount = (of: AssetAmount): string | null => {
    const token = findToken(of);
    return token && formatTokenAmount(of.amount, token.decimals);
  };
  /** `0.10 USDC`, or a number of smallest units of an unknown token. */
  const amountText = (of: AssetAmount): string =>
    `${tokenAmount(of) ?? `${of.amount} units of`} ${findToken(of)?.symbol ?? of.asset}`;

  // Leaves out the proof and the signed transaction, which others could send, and the sold answer.
  const paymentJson = (payment: Payment): JsonObject => ({
    payment: payment.identity,
    state: payment.state,
    network: payment.network,
    asset: payment.asset,
    amount: tokenAmount(payment),
    amount_units: payment.amount.toString(),
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
    amount: tokenAmount(refund),
    amount_units: refund.amount.toString(),
    recipient: refund.recipient,
    sender: refund.sender,
    transaction: refund.transaction,
    reason: refund.reason,
    note: refund.note,
    created_at: toIso(refund.createdAt),
    updated_at: toIso(refund.updatedAt),
  });
  return { findToken, tokenAmount, amountText, paymentJson, refundJson };
};

const paymentColumns = {
  PAYMENT: 'payment',
  STATE: 'state',
  AMOUNT: { right: 'amount' },
  NETWORK: 'network',
  CREATED: 'created_at',
  CHANGED: 'updated_at',
  PAYER: 'payer',
};

export const paymentTable = (payments: readonly Payment[], views: PaymentViews): string =>
  formatTable(
    paymentColumns,
    payments.map((payment) => ({
      ...views.paymentJson(payment),
      payment: shortName(payment.identity),
      amount: views.amountText(payment),
    })),
  );

const refundColumns = {
  REFUND: 'refund',
  STATE: 'state',
  AMOUNT: { right: 'amount' },
  CREATED: 'created_at',
  PAYMENT: 'payment',
  TRANSACTION: 'transaction',
};

export const refundTable = (refunds: readonly PaymentRefund[], views: PaymentViews): string =>
  formatTable(
    refundColumns,
    refunds.map((refund) => ({
      ...views.refundJson(refund),
      payment: shortName(refund.payment),
      amount: views.amountText(refund),
    })),
  );

/**
 * Creates renderers that know the built-in tokens, and those of the configuration if it can be read, so that payments
 * can be shown while a setting is wrong.
 */
export const openPaymentViews = async ({ config }: Pick<Session, 'config'>): Promise<PaymentViews> => {
  try {
    return createPaymentViews(createFindToken((await config()).x402.networks));
  } catch (error) {
    if (error instanceof ConfigError) return createPaymentViews(createFindToken([]));
    throw error;
  }
};
