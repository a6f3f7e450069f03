import { AppError } from '../../kit/errors.ts';
import { encodeBase64Json, type SettleResponse } from '../chains/core/wire.ts';
import { findNetwork } from '../chains/networks.ts';
import type { Payment } from '../../store/store.ts';

export interface Receipt {
  /** x402 v2, for `_meta["x402/payment-response"]` over MCP. */
  response: SettleResponse;
  /** Lower case names: `payment-response` (v2) and `x-payment-response` (v1), base64. */
  headers: { 'payment-response': string; 'x-payment-response': string };
  /** Those of the dialect that was paid in, for successes alone. */
  inDialect?: Readonly<Record<string, string>>;
}

export const toReceipt = (response: SettleResponse): Receipt => ({
  response,
  headers: {
    'payment-response': encodeBase64Json(response),
    'x-payment-response': encodeBase64Json({
      ...response,
      network: findNetwork(response.network)?.v1Name ?? response.network,
    }),
  },
});

export const toSettleResponse = (
  payment: Pick<Payment, 'network' | 'payer'> & Partial<Pick<Payment, 'settledAmount'>>,
  settlement: { transaction: string | null; errorReason?: string },
): SettleResponse => ({
  success: settlement.errorReason === undefined,
  ...(settlement.errorReason === undefined ? {} : { errorReason: settlement.errorReason }),
  ...(payment.payer === null ? {} : { payer: payment.payer }),
  transaction: settlement.transaction ?? '',
  network: payment.network,
  ...(settlement.errorReason === undefined && typeof payment.settledAmount === 'bigint'
    ? { amount: payment.settledAmount.toString() }
    : {}),
});

const conflict = (message: string): AppError =>
  new AppError('payment_conflict', message, { headers: { 'x-should-retry': 'false' } });

export const paymentInProgress = (): AppError =>
  new AppError(
    'payment_in_progress',
    'A request with this payment proof or Idempotency-Key is being served. Send the same request again in a second; do ' +
      'not pay again.',
    { retryAfterSeconds: 1 },
  );

export const refusals = {
  conflict: (): AppError =>
    conflict('This payment proof was used for a different request. Sign a new payment for this request.'),
  nonceConflict: (): AppError =>
    conflict(
      'The nonce of this payment came with another payment proof. Sign a new payment with a nonce of its own.',
    ),
  idConflict: (): AppError =>
    conflict(
      'The identifier of this payment (extensions.payment-identifier) came with another payment that may have been ' +
        'charged. To get its answer, send that payment again as it was; for a new purchase, use a new identifier.',
    ),
  refunded: (): AppError =>
    conflict('This payment was given back, so nothing is served for it any more. Sign a new payment.'),
  spent: (): AppError =>
    conflict(
      'This payment proof was used, and its answer was delivered more than a day ago. Sign a new payment.',
    ),
  found: (): AppError =>
    conflict(
      'This payment was found to be settled when its answer was not kept any more. Ask the operator to give it back.',
    ),
  unknown: (): AppError =>
    new AppError(
      'invalid_payment',
      'This payment proof has paid for nothing here, so it reads nothing. Send the proof that paid.',
    ),
  tooOld: (): AppError =>
    conflict(
      'A payment proof reads what it bought for a day, which is over. The owner of its wallet signs in to read on.',
    ),
  inProgress: paymentInProgress,
  payerUnknown: (): AppError =>
    conflict(
      'This payment does not tell which wallet pays, so its balance could belong to nobody. Nothing was charged. Pay ' +
        'from a wallet that signs for its own tokens.',
    ),
  accountSuspended: (): AppError =>
    new AppError(
      'permission_denied',
      'The account of this wallet is suspended, so it cannot buy. Nothing was charged. Ask the operator.',
    ),
  unavailable: (): AppError =>
    new AppError(
      'payment_unavailable',
      'Payments cannot be checked or settled right now, and nothing was charged. Send the same request with the same ' +
        'payment proof again shortly.',
      { retryAfterSeconds: 5 },
    ),
  uncovered: (): AppError =>
    new AppError(
      'payment_unavailable',
      'Other payments of this wallet are not settled yet, and its balance may not cover this one as well. Nothing was ' +
        'charged for this one. If an earlier request with a payment proof was broken off, send it again with that proof to ' +
        'get its result; else send the same request with the same payment proof again shortly.',
      { retryAfterSeconds: 5 },
    ),
  tooManyOpen: (): AppError =>
    new AppError(
      'rate_limit_exceeded',
      'Too many payments of this wallet are not settled yet. Nothing was charged for this one. Send the same request with ' +
        'the same payment proof again shortly.',
      { retryAfterSeconds: 5 },
    ),
  tooManyReverts: (barredMs: number): AppError =>
    new AppError(
      'rate_limit_exceeded',
      'Several settlements of this wallet, or of others at this address, have failed, because the money or the permission ' +
        'was gone by then, or the proof had run out. Nothing was charged. Wait as long as Retry-After says.',
      { retryAfterSeconds: Math.ceil(barredMs / 1_000), headers: { 'x-should-retry': 'false' } },
    ),
  /** `payment` carries the transaction where it is known. */
  pending: (payment: Pick<Payment, 'network' | 'payer' | 'transaction'>): AppError => {
    const { transaction } = payment;
    const receipt = toReceipt(toSettleResponse(payment, { transaction, errorReason: 'settlement_pending' }));
    return new AppError(
      'payment_pending',
      `The outcome of the payment${transaction === null ? '' : ` (transaction ${transaction})`} is not known yet. Send ` +
        'the same request with the same payment proof again to get the result; do not pay again.',
      {
        retryAfterSeconds: 5,
        headers: {
          ...receipt.headers,
          ...(transaction === null ? {} : { 'x-payment-transaction': transaction }),
        },
      },
    );
  },
};
