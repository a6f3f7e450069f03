import { findPayments, shortestPrefix } from '../../purchases/find-payments.ts';
import type { Payment, Store } from '../../store/store.ts';
import { CommandError } from '../command-error.ts';

const shown = (given: string): string =>
  JSON.stringify(given.length > 200 ? `${given.slice(0, 80)}…` : given);

/** The one payment that is meant. Throws CommandError when there is none, or more than one. */
export const requirePayment = async (store: Store, given: string): Promise<Payment> => {
  const [payment, ...others] = await findPayments(store, given);
  if (payment === undefined)
    throw new CommandError(
      'payment_not_found',
      `There is no payment ${shown(given)}. Give an identity, a transaction, or at least ${shortestPrefix} characters ` +
        'of the beginning of one.',
    );
  if (others.length > 0)
    throw new CommandError(
      'payment_ambiguous',
      `More than one payment begins with ${shown(given)}: ${[payment, ...others].map(({ identity }) => identity).join(', ')}`,
    );
  return payment;
};
