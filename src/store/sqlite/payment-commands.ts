import type { DatabaseSync } from 'node:sqlite';
import type { CommandInput, CommandOutput } from '../commands.ts';
import { judgeRefundPlan } from '../plan-refund.ts';
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
import { getPayment } from '../statements/payments.ts';
import { prepare } from './prepare.ts';

type Command<N extends 'planRefund' | 'advanceRefund' | 'prunePayments' | 'noteOfferedTerms'> = (
  input: CommandInput<N>,
) => CommandOutput<N>;

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
