import type { Pool } from './connection.ts';
import type { CommandOutput } from '../commands.ts';
import { getPayment, reservePayment } from '../statements/payments.ts';
import type { NewPayment } from '../store.ts';
import { prepare, sqlOn } from './sql.ts';

const reserve = prepare(reservePayment);
const find = prepare(getPayment);

/** The read comes after the insert found the row, so it sees the commit that made it. */
export const reservePaymentCommand = (
  pool: Pool,
): ((input: NewPayment) => Promise<CommandOutput<'reservePayment'>>) => {
  const sql = sqlOn(pool);
  return async (input) => {
    const reserved = await reserve(sql, input);
    if (reserved !== null) return { outcome: 'reserved', payment: reserved };
    const payment = await find(sql, input.identity);
    if (payment === null) throw new Error('a payment was neither new nor there');
    return { outcome: 'exists', payment };
  };
};
