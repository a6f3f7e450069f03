import type { DatabaseSync } from 'node:sqlite';
import type { CommandOutput } from '../commands.ts';
import { findPaymentById, getPayment, reservePayment } from '../statements/payments.ts';
import type { NewPayment } from '../store.ts';
import { prepare } from './prepare.ts';

export const reservePaymentCommand = (
  database: DatabaseSync,
): ((input: NewPayment) => CommandOutput<'reservePayment'>) => {
  const reserve = prepare(database, reservePayment);
  const find = prepare(database, getPayment);
  const findById = prepare(database, findPaymentById);
  return (input) => {
    const reserved = reserve(input);
    if (reserved !== null) return { outcome: 'reserved', payment: reserved };
    const payment = find(input.identity);
    if (payment !== null && payment.state !== 'rejected') return { outcome: 'exists', payment };
    const holder = input.paymentId === null ? null : findById(input.paymentId);
    if (holder === null) throw new Error('a payment was neither new nor there');
    return { outcome: 'payment_id_taken', payment: holder };
  };
};
