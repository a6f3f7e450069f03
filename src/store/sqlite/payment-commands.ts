import type { DatabaseSync } from 'node:sqlite';
import type { CommandInput, CommandOutput } from '../commands.ts';
import { findUncovered, maySettleUnchecked, toLookup, toOpenOf } from '../payment-guards.ts';
import { judgeRefundPlan } from '../plan-refund.ts';
import { findPaymentsByTransaction } from '../statements/find-payments.ts';
import {
  advanceRefund,
  findOpenRefundOf,
  getRefund,
  insertRefund,
  markRefunded,
  sumRefundsOf,
} from '../statements/payment-refunds.ts';
import {
  deleteRejectedPayments,
  forgetOfferedTerms,
  forgetPaymentAnswers,
  noteOfferedTerms,
} from '../statements/payment-upkeep.ts';
import {
  advancePayment,
  findPaymentById,
  getPayment,
  listOpenAmounts,
  listUncheckedAmounts,
  reservePayment,
} from '../statements/payments.ts';
import { prepare } from './prepare.ts';

type Command<
  N extends
    | 'reservePayment'
    | 'verifyPayment'
    | 'settleUnchecked'
    | 'planRefund'
    | 'advanceRefund'
    | 'prunePayments'
    | 'noteOfferedTerms',
> = (input: CommandInput<N>) => CommandOutput<N>;

export const reservePaymentCommand = (database: DatabaseSync): Command<'reservePayment'> => {
  const reserve = prepare(database, reservePayment);
  const find = prepare(database, getPayment);
  const findById = prepare(database, findPaymentById);
  return (input) => {
    const reserved = reserve(input);
    if (reserved !== null) return { outcome: 'reserved', payment: reserved };
    const payment = find(input.identity);
    if (payment !== null && payment.state !== 'rejected') return { outcome: 'exists', payment };
    const holder = input.paymentId === null ? null : findById(input.paymentId);
    if (holder === null) throw new Error('a payment was neither inserted nor found');
    return { outcome: 'payment_id_taken', payment: holder };
  };
};

export const verifyPaymentCommand = (database: DatabaseSync): Command<'verifyPayment'> => {
  const find = prepare(database, getPayment);
  const listOpen = prepare(database, listOpenAmounts);
  const advance = prepare(database, advancePayment);
  return (input) => {
    const payment = find(input.change.identity);
    if (payment === null) return null;
    const uncovered = findUncovered(input, { payment, open: listOpen(toOpenOf(input, payment)) });
    if (uncovered !== null) return uncovered;
    const verified = advance(input.change);
    return verified === null ? null : { outcome: 'verified', payment: verified };
  };
};

export const settleUncheckedCommand = (database: DatabaseSync): Command<'settleUnchecked'> => {
  const find = prepare(database, getPayment);
  const findNamed = prepare(database, findPaymentsByTransaction);
  const listUnchecked = prepare(database, listUncheckedAmounts);
  const advance = prepare(database, advancePayment);
  return (input) => {
    const payment = find(input.change.identity);
    if (payment === null) return null;
    const facts = { payment, named: findNamed(toLookup(input)), unchecked: listUnchecked(payment) };
    return maySettleUnchecked(input, facts) ? advance(input.change) : null;
  };
};

export const planRefundCommand = (database: DatabaseSync): Command<'planRefund'> => {
  const findRefund = prepare(database, getRefund);
  const findPayment = prepare(database, getPayment);
  const findOpen = prepare(database, findOpenRefundOf);
  const sumRefunds = prepare(database, sumRefundsOf);
  const insert = prepare(database, insertRefund);
  const mark = prepare(database, markRefunded);
  return (plan) => {
    const judged = judgeRefundPlan(plan, {
      existing: findRefund(plan.id),
      payment: findPayment(plan.payment),
      open: findOpen(plan.payment),
      refunded: sumRefunds(plan.payment),
    });
    if (judged.outcome !== 'allowed') return judged;
    if (judged.isWhole) mark({ identity: plan.payment, isRefunded: true });
    return { outcome: 'planned', refund: insert({ plan, ...judged }) };
  };
};

export const advanceRefundCommand = (database: DatabaseSync): Command<'advanceRefund'> => {
  const advance = prepare(database, advanceRefund);
  const mark = prepare(database, markRefunded);
  return (input) => {
    const refund = advance(input);
    if (refund?.state === 'failed') mark({ identity: refund.payment, isRefunded: false });
    return refund;
  };
};

export const prunePaymentsCommand = (database: DatabaseSync): Command<'prunePayments'> => {
  const deleteRejected = prepare(database, deleteRejectedPayments);
  const forgetAnswers = prepare(database, forgetPaymentAnswers);
  return ({ rejectedBefore, deliveredBefore, limit }) =>
    deleteRejected({ before: rejectedBefore, limit }) + forgetAnswers({ before: deliveredBefore, limit });
};

export const noteOfferedTermsCommand = (database: DatabaseSync): Command<'noteOfferedTerms'> => {
  const note = prepare(database, noteOfferedTerms);
  const forget = prepare(database, forgetOfferedTerms);
  return (input) => {
    note(input);
    forget(input);
  };
};
