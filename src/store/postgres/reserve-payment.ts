import type { Pool } from './connection.ts';
import type { CommandOutput } from '../commands.ts';
import { findPaymentById, getPayment, reservePayment } from '../statements/payments.ts';
import type { NewPayment, Payment } from '../store.ts';
import { isUniqueViolation, prepare, sqlOn, type Sql } from './sql.ts';

const insert = prepare(reservePayment);
const find = prepare(getPayment);
const findById = prepare(findPaymentById);

/** Null, too, when another proof with the same identifier was inserted at the same moment. */
const reserve = async (sql: Sql, input: NewPayment): Promise<Payment | null> => {
  try {
    return await insert(sql, input);
  } catch (error) {
    if (isUniqueViolation(error)) return null;
    throw error;
  }
};

const maxAttempts = 3;

/** The reads come after the insert found a row, so they see the commit that made it. */
export const reservePaymentCommand = (
  pool: Pool,
): ((input: NewPayment) => Promise<CommandOutput<'reservePayment'>>) => {
  const sql = sqlOn(pool);
  return async (input) => {
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const reserved = await reserve(sql, input);
      if (reserved !== null) return { outcome: 'reserved', payment: reserved };
      const payment = await find(sql, input.identity);
      if (payment !== null && payment.state !== 'rejected') return { outcome: 'exists', payment };
      const holder = input.paymentId === null ? null : await findById(sql, input.paymentId);
      if (holder !== null) return { outcome: 'payment_id_taken', payment: holder };
      // What stood in the way was given free in between.
    }
    throw new Error('a payment was neither new nor there');
  };
};
