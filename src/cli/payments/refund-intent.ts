import { newId } from '../../kit/ids.ts';
import { parseTokenAmount } from '../../purchases/token-amount.ts';
import type { Payment, PaymentRefund } from '../../store/store.ts';
import { CommandError } from '../command-error.ts';
import { refundNotPossible, repeatCommand, type RefundContext, type RefundIntent } from './refund-context.ts';
import { maxRefunds, requirePayment } from './views.ts';

const readUnits = (payment: Payment, text: string, { views }: RefundContext): bigint => {
  const token = views.findToken(payment);
  const units = token === null ? null : parseTokenAmount(text, token.decimals);
  if (units !== null) return units;
  const form = token === null ? '' : ` Write ${token.symbol} above zero, such as 0.10.`;
  throw new CommandError('invalid_usage', `${JSON.stringify(text.slice(0, 40))} is not an amount.${form}`);
};

const tooMuch = (payment: Payment, left: bigint, { views }: RefundContext): CommandError =>
  new CommandError(
    'refund_too_large',
    left <= 0n
      ? 'All of this payment is refunded, or is being refunded.'
      : `At most ${views.amountText({ ...payment, amount: left })} of this payment can still be refunded.`,
  );

const notSettled = ({ state }: Payment): CommandError =>
  new CommandError(
    'payment_not_settled',
    state === 'unknown'
      ? 'It is not known whether the payment happened. If you have found it on the chain, give its transaction to ' +
          '"payments reconcile", or refund it with --unknown.'
      : `The payment is ${state}, not settled: there is nothing to refund. See "payments show".`,
  );

const isOpenAlready = (open: PaymentRefund, context: RefundContext): CommandError =>
  new CommandError(
    'refund_open',
    `Another refund of this payment is still open. Continue that one first: ${repeatCommand(open, context)}`,
  );

const isRefundable = ({ state }: Payment, acceptsUnknown: boolean): boolean =>
  state === 'settled' || state === 'delivered' || (acceptsUnknown && state === 'unknown');

interface Request {
  id: string;
  payment: Payment;
  /** Null: all that is left. */
  amount: bigint | null;
  acceptsUnknown: boolean;
}

/** Throws CommandError if the refund is of another payment or amount, or is planned for a payment that is not settled now. */
const continueRefund = (
  existing: PaymentRefund,
  { payment, amount }: Pick<Request, 'payment' | 'amount'>,
  { views }: RefundContext,
): RefundIntent => {
  const { id, recipient, acceptsUnknown } = existing;
  if (existing.payment !== payment.identity || (amount !== null && amount !== existing.amount))
    throw new CommandError(
      'refund_conflict',
      `Refund ${id} is another one: ${views.amountText(existing)} of payment ${existing.payment}.`,
    );
  if (existing.state === 'planned' && !isRefundable(payment, acceptsUnknown))
    throw new CommandError(
      'payment_not_settled',
      `Refund ${id} is planned, but its payment is now ${payment.state}. Cancel it with "payments cancel-refund ${id}"; ` +
        'if you have found the payment on the chain, make another refund with --unknown.',
    );
  return { id, payment, recipient, amount: existing.amount, acceptsUnknown, existing };
};

/** Throws CommandError if the payment, or this amount of it, cannot be refunded. */
const beginRefund = async (request: Request, context: RefundContext): Promise<RefundIntent> => {
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
    .reduce((rest, refund) => rest - refund.amount, payment.amount);
  const amount = request.amount ?? left;
  if (amount > left || left <= 0n) throw tooMuch(payment, left, context);
  if (payment.payer === null) throw refundNotPossible('no_payer', payment);
  return { id, payment, recipient: payment.payer, amount, acceptsUnknown, existing: null };
};

/** Finds or prepares the refund that the arguments name. Throws CommandError. */
export const readRefundIntent = async (
  given: string,
  options: { amount?: string; refundId?: string; unknown?: true },
  context: RefundContext,
): Promise<RefundIntent> => {
  const { refundId: id = newId(), unknown: acceptsUnknown = false } = options;
  const payment = await requirePayment(context.store, given);
  const amount = options.amount === undefined ? null : readUnits(payment, options.amount, context);
  const existing = await context.store.getRefund(id);
  return existing === null
    ? beginRefund({ id, payment, amount, acceptsUnknown }, context)
    : continueRefund(existing, { payment, amount }, context);
};

/** Stores the planned refund, unless another run has done so. Throws CommandError. */
export const planRefund = async (
  { id, payment, amount, acceptsUnknown }: RefundIntent,
  note: string | null,
  context: RefundContext,
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
    case 'no_payment':
    case 'no_payer':
      throw refundNotPossible('no_payer', payment);
  }
};
