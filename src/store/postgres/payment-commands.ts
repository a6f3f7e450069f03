import type { CommandInput, CommandOutput } from '../commands.ts';
import { judgeRefundPlan } from '../plan-refund.ts';
import {
  advanceRefund,
  findOpenRefundOf,
  getRefund,
  insertRefund,
  lockPayment,
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
import type { Pool } from './connection.ts';
import { inTransaction, prepare, sqlOn } from './sql.ts';

type Command<N extends 'planRefund' | 'advanceRefund' | 'prunePayments' | 'noteOfferedTerms'> = (
  input: CommandInput<N>,
) => Promise<CommandOutput<N>>;

const lock = prepare(lockPayment);
const findRefund = prepare(getRefund);
const findPayment = prepare(getPayment);
const findOpen = prepare(findOpenRefundOf);
const sumRefunds = prepare(sumRefundsOf);
const insert = prepare(insertRefund);
const mark = prepare(markRefunded);
const advance = prepare(advanceRefund);
const deleteRejected = prepare(deleteRejectedPayments);
const forgetAnswers = prepare(forgetPaymentAnswers);
const note = prepare(noteOfferedTerms);
const forget = prepare(forgetOfferedTerms);

export const planRefundCommand =
  (pool: Pool): Command<'planRefund'> =>
  (plan) =>
    inTransaction(pool, async (sql) => {
      await lock(sql, plan.payment);
      const judged = judgeRefundPlan(plan, {
        existing: await findRefund(sql, plan.id),
        payment: await findPayment(sql, plan.payment),
        open: await findOpen(sql, plan.payment),
        refunded: await sumRefunds(sql, plan.payment),
      });
      if (judged.outcome !== 'allowed') return judged;
      if (judged.isWhole) await mark(sql, { identity: plan.payment, isRefunded: true });
      return { outcome: 'planned', refund: await insert(sql, { plan, ...judged }) };
    });

export const advanceRefundCommand =
  (pool: Pool): Command<'advanceRefund'> =>
  (input) =>
    inTransaction(pool, async (sql) => {
      const known = await findRefund(sql, input.id);
      if (known === null) return null;
      await lock(sql, known.payment);
      const refund = await advance(sql, input);
      if (refund?.state === 'failed') await mark(sql, { identity: refund.payment, isRefunded: false });
      return refund;
    });

/** Each statement by itself: what one of them removed stays removed. */
export const prunePaymentsCommand = (pool: Pool): Command<'prunePayments'> => {
  const sql = sqlOn(pool);
  return async ({ rejectedBefore, deliveredBefore, limit }) => {
    const deleted = await deleteRejected(sql, { before: rejectedBefore, limit });
    return deleted + (await forgetAnswers(sql, { before: deliveredBefore, limit }));
  };
};

export const noteOfferedTermsCommand = (pool: Pool): Command<'noteOfferedTerms'> => {
  const sql = sqlOn(pool);
  return async (input) => {
    await note(sql, input);
    await forget(sql, input);
  };
};
