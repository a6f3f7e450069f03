import type { CommandInput, CommandOutput } from '../commands.ts';
import { findUncovered, maySettleUnchecked, toLookup, toOpenOf } from '../payment-guards.ts';
import { judgeRefundPlan } from '../plan-refund.ts';
import { findPaymentsByTransaction } from '../statements/find-payments.ts';
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
import {
  advancePayment,
  findPaymentById,
  getPayment,
  listOpenAmounts,
  listUncheckedAmounts,
  reservePayment,
} from '../statements/payments.ts';
import type { NewPayment, Payment } from '../store.ts';
import type { Pool } from './connection.ts';
import { inTransaction, isUniqueViolation, prepare, sqlOn, type NamedQuery, type Sql } from './sql.ts';

type Command<
  N extends
    | 'reservePayment'
    | 'verifyPayment'
    | 'settleUnchecked'
    | 'planRefund'
    | 'advanceRefund'
    | 'prunePayments'
    | 'noteOfferedTerms',
> = (input: CommandInput<N>) => Promise<CommandOutput<N>>;

const insertPayment = prepare(reservePayment);
const findById = prepare(findPaymentById);
const lock = prepare(lockPayment);
const advanceOne = prepare(advancePayment);
const findNamed = prepare(findPaymentsByTransaction);
const listOpen = prepare(listOpenAmounts);
const listUnchecked = prepare(listUncheckedAmounts);
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

/** Also returns null if another proof with the same identifier was inserted at the same moment. */
const reserve = async (sql: Sql, input: NewPayment): Promise<Payment | null> => {
  try {
    return await insertPayment(sql, input);
  } catch (error) {
    if (isUniqueViolation(error)) return null;
    throw error;
  }
};

const maxAttempts = 3;

/** Reads after the insert found a row, so the reads see the commit of that row. */
export const reservePaymentCommand = (pool: Pool): Command<'reservePayment'> => {
  const sql = sqlOn(pool);
  return async (input) => {
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const reserved = await reserve(sql, input);
      if (reserved !== null) return { outcome: 'reserved', payment: reserved };
      const payment = await findPayment(sql, input.identity);
      if (payment !== null && payment.state !== 'rejected') return { outcome: 'exists', payment };
      const holder = input.paymentId === null ? null : await findById(sql, input.paymentId);
      if (holder !== null) return { outcome: 'payment_id_taken', payment: holder };
      // The row that prevented the insert was freed meanwhile.
    }
    throw new Error('a payment was neither inserted nor found');
  };
};

/** Locks a name until the end of the transaction. Rows that another transaction has not inserted yet cannot be locked. */
const lockName: NamedQuery = {
  name: 'lock_name',
  text: 'select pg_advisory_xact_lock(hashtextextended($1, 0))',
};

export const verifyPaymentCommand =
  (pool: Pool): Command<'verifyPayment'> =>
  (input) =>
    inTransaction(pool, async (sql) => {
      await sql.all(lockName, [`payments from ${input.source}`]);
      const payment = await findPayment(sql, input.change.identity);
      if (payment === null) return null;
      const open = await listOpen(sql, toOpenOf(input, payment));
      const uncovered = findUncovered(input, { payment, open });
      if (uncovered !== null) return uncovered;
      const verified = await advanceOne(sql, input.change);
      return verified === null ? null : { outcome: 'verified', payment: verified };
    });

export const settleUncheckedCommand =
  (pool: Pool): Command<'settleUnchecked'> =>
  (input) =>
    inTransaction(pool, async (sql) => {
      await sql.all(lockName, ['unchecked payments']);
      const payment = await findPayment(sql, input.change.identity);
      if (payment === null) return null;
      const named = await findNamed(sql, toLookup(input));
      const unchecked = await listUnchecked(sql, payment);
      return maySettleUnchecked(input, { payment, named, unchecked }) ? advanceOne(sql, input.change) : null;
    });

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

/** Runs two separate statements: if the second fails, the first still counts. */
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
