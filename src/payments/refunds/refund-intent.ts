import { AppError } from '../../kit/errors.ts';
import type { Clock } from '../../kit/clock.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import type { Payment, PaymentRefund, Store } from '../../store/store.ts';
import { maxRefunds, requirePayment } from '../records/find-payments.ts';
import { parseTokenAmount, type TokenTexts } from '../records/token-amount.ts';
import { owedCredit, amountOf } from '../../rules/payments.ts';

export interface IntentContext {
  store: Store;
  clock: Clock;
  tokens: TokenTexts;
}

/** A refund to plan, or the `existing` one of an earlier run. */
export interface RefundIntent {
  id: string;
  payment: Payment;
  recipient: string;
  amount: bigint;
  acceptsUnknown: boolean;
  existing: PaymentRefund | null;
}

export const refundNotPossible = (
  why: 'not_configured' | 'unknown_token' | 'no_payer' | 'wrong_payer',
  { network, asset, payer }: Payment,
): AppError => {
  const messages = {
    not_configured: `The payment was made on ${network}, which X402_NETWORKS does not name.`,
    unknown_token: `The payment was made in ${asset}, which is not the token that is configured for ${network}.`,
    wrong_payer: `The payment is recorded as paid by ${payer}, but another wallet signed for it, so nothing is sent.`,
    no_payer: 'The payer is not known, so nothing can be refunded.',
  };
  const code = why === 'not_configured' ? 'network_not_configured' : 'refund_not_possible';
  return new AppError(code, messages[why]);
};

const readUnits = (payment: Payment, text: string, { tokens }: IntentContext): bigint => {
  const token = tokens.findToken(payment);
  const units = token === null ? null : parseTokenAmount(text, token.decimals);
  if (units !== null) return units;
  const form = token === null ? '' : ` Write ${token.symbol} above zero, such as 0.10.`;
  throw new AppError('invalid_parameter', `${JSON.stringify(text.slice(0, 40))} is not an amount.${form}`);
};

const tooMuch = (payment: Payment, left: bigint, { tokens }: IntentContext): AppError =>
  new AppError(
    'refund_too_large',
    left <= 0n
      ? 'All of this payment is refunded, or is being refunded.'
      : `At most ${tokens.amountText({ ...payment, amount: left })} of this payment can still be refunded.`,
  );

const notSettled = ({ state }: Payment): AppError =>
  new AppError(
    'payment_not_settled',
    state === 'unknown'
      ? 'It is not known whether the payment happened. If you have found it on the chain, reconcile it with its ' +
          'transaction, or accept in the refund that it is unknown.'
      : `The payment is ${state}, not settled: there is nothing to refund.`,
  );

const isOpenAlready = (open: PaymentRefund, context: IntentContext): AppError =>
  new AppError(
    'refund_open',
    `Another refund of this payment is still open: ${open.id}, of ${context.tokens.amountText(open)}. Continue that one first, or cancel it.`,
  );

const creditSpent = (
  { accountId }: Payment,
  { available, needed }: { available: Nano; needed: Nano },
): AppError =>
  new AppError(
    'refund_not_possible',
    `The payment raised the balance of account ${accountId}, and this refund takes $${formatUsd(needed)} from it, but ` +
      `$${formatUsd(available)} is available. Refund less, or credit the account first.`,
  );

/** Throws AppError if the account whose balance the payment raised does not have the refunded part of it any more. */
const assertUnspent = async (payment: Payment, refunded: bigint, { store }: IntentContext): Promise<void> => {
  const needed = payment.credited - owedCredit(payment, refunded);
  const account = payment.accountId === null ? null : await store.getAccount(payment.accountId);
  if (account === null) return;
  const available = account.balance - account.held;
  if (available < needed) throw creditSpent(payment, { available, needed });
};

const isRefundable = ({ state }: Payment, acceptsUnknown: boolean): boolean =>
  state === 'settled' || state === 'delivered' || (acceptsUnknown && state === 'unknown');

interface Request {
  id: string;
  payment: Payment;
  /** Null: all that is left. */
  amount: bigint | null;
  acceptsUnknown: boolean;
}

/** Throws AppError if the refund is of another payment or amount, or is planned for a payment that is not settled now. */
const continueRefund = (
  existing: PaymentRefund,
  { payment, amount }: Pick<Request, 'payment' | 'amount'>,
  { tokens }: IntentContext,
): RefundIntent => {
  const { id, recipient, acceptsUnknown } = existing;
  if (existing.payment !== payment.identity || (amount !== null && amount !== existing.amount))
    throw new AppError(
      'refund_conflict',
      `Refund ${id} is another one: ${tokens.amountText(existing)} of payment ${existing.payment}.`,
    );
  if (existing.state === 'planned' && !isRefundable(payment, acceptsUnknown))
    throw new AppError(
      'payment_not_settled',
      `Refund ${id} is planned, but its payment is now ${payment.state}. Cancel this refund; if you have ` +
        'found the payment on the chain, make another refund that accepts an unknown payment.',
    );
  return { id, payment, recipient, amount: existing.amount, acceptsUnknown, existing };
};

const beginRefund = async (request: Request, context: IntentContext): Promise<RefundIntent> => {
  const { id, payment, acceptsUnknown } = request;
  if (!isRefundable(payment, acceptsUnknown)) throw notSettled(payment);
  const refunds = await context.store.listRefunds({ payment: payment.identity, limit: maxRefunds });
  // Another run with the same id may have planned it meanwhile.
  const same = refunds.find((refund) => refund.id === id);
  if (same !== undefined) return continueRefund(same, request, context);
  const open = refunds.find(({ state }) => state === 'planned' || state === 'sending');
  if (open !== undefined) throw isOpenAlready(open, context);
  const left = refunds
    .filter(({ state }) => state !== 'failed')
    .reduce((rest, refund) => rest - refund.amount, amountOf(payment));
  const amount = request.amount ?? left;
  if (amount > left || left <= 0n) throw tooMuch(payment, left, context);
  if (payment.payer === null) throw refundNotPossible('no_payer', payment);
  await assertUnspent(payment, amountOf(payment) - left + amount, context);
  return { id, payment, recipient: payment.payer, amount, acceptsUnknown, existing: null };
};

/** A refund as it is asked for. `payment`: its identity, its transaction, or the beginning of either. */
export interface WantedRefund {
  id: string;
  payment: string;
  /** In tokens, such as `0.05`; null: all that is left. */
  amount: string | null;
  acceptsUnknown: boolean;
}

export const readRefundIntent = async (
  { id, acceptsUnknown, ...wanted }: WantedRefund,
  context: IntentContext,
): Promise<RefundIntent> => {
  const payment = await requirePayment(context.store, wanted.payment);
  const amount = wanted.amount === null ? null : readUnits(payment, wanted.amount, context);
  const existing = await context.store.getRefund(id);
  return existing === null
    ? beginRefund({ id, payment, amount, acceptsUnknown }, context)
    : continueRefund(existing, { payment, amount }, context);
};

export const planRefund = async (
  { id, payment, amount, acceptsUnknown }: RefundIntent,
  note: string | null,
  context: IntentContext,
): Promise<PaymentRefund> => {
  const { store, clock } = context;
  const now = clock.now();
  const planned = await store.planRefund({
    id,
    payment: payment.identity,
    amount,
    note,
    acceptsUnknown,
    now,
  });
  switch (planned.outcome) {
    case 'planned':
      return planned.refund;
    case 'exists':
      continueRefund(planned.refund, { payment, amount }, context);
      return planned.refund;
    case 'too_much':
      throw tooMuch(payment, planned.left, context);
    case 'not_settled':
      throw notSettled(payment);
    case 'open':
      throw isOpenAlready(planned.refund, context);
    case 'wrong_payer':
      throw refundNotPossible('wrong_payer', payment);
    case 'spent':
      throw creditSpent(payment, planned);
    case 'no_payment':
    case 'no_payer':
      throw refundNotPossible('no_payer', payment);
  }
};
