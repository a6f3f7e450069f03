import { newId } from '../../kit/ids.ts';
import { parseTokenAmount } from '../../purchases/token-amount.ts';
import type { Payment, PaymentRefund } from '../../store/store.ts';
import { CommandError } from '../command-error.ts';
import { requirePayment } from './find.ts';
import { goOnCommand, type RefundDesk, type RefundIntent } from './refund-context.ts';
import { refundNotPossible } from './refund-refusals.ts';

const maxRefunds = 1_000;

const readUnits = (payment: Payment, text: string, { findToken }: RefundDesk): bigint => {
  const token = findToken(payment);
  const units = token === null ? null : parseTokenAmount(text, token.decimals);
  if (units !== null) return units;
  const form = token === null ? '' : ` Write ${token.symbol} above zero, such as 0.10.`;
  throw new CommandError('invalid_usage', `${JSON.stringify(text.slice(0, 40))} is not an amount.${form}`);
};

const tooMuch = (payment: Payment, left: bigint, { views }: RefundDesk): CommandError =>
  new CommandError(
    'refund_too_large',
    left <= 0n
      ? 'All of this payment is given back, or is about to be.'
      : `Of this payment ${views.amountText({ ...payment, amount: left })} can still be given back.`,
  );

const notSettled = ({ state }: Payment): CommandError =>
  new CommandError(
    'payment_not_settled',
    state === 'unknown'
      ? 'It is not known whether the payment happened. If you have seen it on the chain, name its transaction to ' +
          '"payments reconcile", or give it back all the same with --unknown.'
      : `The payment is ${state}, not settled: there is nothing to give back. See "payments show".`,
  );

const isOpenAlready = (open: PaymentRefund, desk: RefundDesk): CommandError =>
  new CommandError(
    'refund_open',
    `A refund of this payment has no end yet. Go on with it first: ${goOnCommand(open, desk)}`,
  );

const canBeGivenBack = ({ state }: Payment, acceptsUnknown: boolean): boolean =>
  state === 'settled' || state === 'delivered' || (acceptsUnknown && state === 'unknown');

/** Nothing of it was signed, and what it gives back is not known to have come in any more. */
const owedNoMore = ({ id }: PaymentRefund, { state }: Payment): CommandError =>
  new CommandError(
    'payment_not_settled',
    `Refund ${id} is planned, but its payment is ${state} by now. Give it up with "payments cancel-refund ${id}"; if ` +
      'you have seen the payment on the chain, make another with --unknown.',
  );

/** Of the same payment and, where it is named again, of the same amount. Throws CommandError. */
const goOnWith = (
  existing: PaymentRefund,
  { payment, amount }: { payment: Payment; amount: bigint | null },
  { views }: RefundDesk,
): RefundIntent => {
  if (existing.payment !== payment.identity || (amount !== null && amount !== existing.amount))
    throw new CommandError(
      'refund_conflict',
      `Refund ${existing.id} is another one: ${views.amountText(existing)} of payment ${existing.payment}.`,
    );
  const { id, recipient, acceptsUnknown } = existing;
  if (existing.state === 'planned' && !canBeGivenBack(payment, acceptsUnknown))
    throw owedNoMore(existing, payment);
  return { id, payment, recipient, amount: existing.amount, acceptsUnknown, existing };
};

/** Throws CommandError when the payment cannot be given back, or not so much of it. */
const beginWith = async (
  {
    id,
    payment,
    amount,
    acceptsUnknown,
  }: { id: string; payment: Payment; amount: bigint | null; acceptsUnknown: boolean },
  desk: RefundDesk,
): Promise<RefundIntent> => {
  if (!canBeGivenBack(payment, acceptsUnknown)) throw notSettled(payment);
  const refunds = await desk.store.listRefunds({ payment: payment.identity, limit: maxRefunds });
  // Another run with the same id may have written it down since it was looked for.
  const same = refunds.find((refund) => refund.id === id);
  if (same !== undefined) return goOnWith(same, { payment, amount }, desk);
  const open = refunds.find(({ state }) => state === 'planned' || state === 'sending');
  if (open !== undefined) throw isOpenAlready(open, desk);
  const left = refunds
    .filter(({ state }) => state !== 'failed')
    .reduce((rest, refund) => rest - refund.amount, payment.amount);
  const wanted = amount ?? left;
  if (wanted > left || left <= 0n) throw tooMuch(payment, left, desk);
  if (payment.payer === null) throw refundNotPossible('no_payer', payment);
  return { id, payment, recipient: payment.payer, amount: wanted, acceptsUnknown, existing: null };
};

/** What the words of the command ask for, by what the store knows. Throws CommandError. */
export const readRefundIntent = async (
  given: string,
  options: { amount?: string; refundId?: string; unknown?: true },
  desk: RefundDesk,
): Promise<RefundIntent> => {
  const payment = await requirePayment(desk.store, given);
  const amount = options.amount === undefined ? null : readUnits(payment, options.amount, desk);
  const existing = options.refundId === undefined ? null : await desk.store.getRefund(options.refundId);
  return existing === null
    ? beginWith(
        { id: options.refundId ?? newId(), payment, amount, acceptsUnknown: options.unknown === true },
        desk,
      )
    : goOnWith(existing, { payment, amount }, desk);
};

/** Writes the refund down, unless another run has done so. Throws CommandError. */
export const planRefund = async (
  { id, payment, amount, acceptsUnknown }: RefundIntent,
  note: string | null,
  desk: RefundDesk,
): Promise<PaymentRefund> => {
  const { store, clock } = desk;
  const planned = await store.planRefund({
    id,
    payment: payment.identity,
    amount,
    note,
    acceptsUnknown,
    now: clock.now(),
  });
  switch (planned.outcome) {
    case 'planned':
      return planned.refund;
    case 'exists':
      goOnWith(planned.refund, { payment, amount }, desk);
      return planned.refund;
    case 'too_much':
      throw tooMuch(payment, planned.left, desk);
    case 'not_settled':
      throw notSettled(payment);
    case 'open':
      throw isOpenAlready(planned.refund, desk);
    case 'wrong_payer':
      throw refundNotPossible('wrong_payer', payment);
    case 'no_payment':
    case 'no_payer':
      throw refundNotPossible('no_payer', payment);
  }
};
