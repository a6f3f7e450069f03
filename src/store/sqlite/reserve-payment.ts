import type { DatabaseSync } from 'node:sqlite';
import type { CommandOutput } from '../commands.ts';
import { getPayment, reservePayment } from '../statements/payments.ts';
import type { NewPayment } from '../store.ts';
import { prepare } from './prepare.ts';

export const reservePaymentCommand = (
  database: DatabaseSync,
): ((input: NewPayment) => CommandOutput<'reservePayment'>) => {
  const reserve = prepare(database, reservePayment);
  const find = prepare(database, getPayment);
  return (input) => {
    const reserved = reserve(input);
    if (reserved !== null) return { outcome: 'reserved', payment: reserved };
    const payment = find(input.identity);
    if (payment === null) throw new Error('a payment was neither new nor there');
    return { outcome: 'exists', payment };
  };
};
