import { networkFamilies } from '../payments/families.ts';
import type { Payment, Store } from '../store/store.ts';

/** Shorter prefixes would match by chance. */
export const shortestPrefix = 6;

const maxFound = 10;

/** Returns the last part of an identity: the nonce on EVM, the hash of the message on Solana. */
export const ownPartOf = ({ identity }: Pick<Payment, 'identity'>): string =>
  identity.slice(identity.lastIndexOf(':') + 1);

/**
 * Finds payments by identity, by transaction, by the last part of the identity (nonce or message hash), or by a prefix
 * of any of these. Whole matches come before prefixes. Returns at most ten.
 */
export const findPayments = async (
  store: Pick<Store, 'getPayment' | 'findPaymentsByTransaction' | 'findPaymentsByPrefix'>,
  name: string,
): Promise<Payment[]> => {
  const given = networkFamilies.reduce((text, family) => family.normalize(text), name);
  const exact = await store.getPayment(given);
  if (exact !== null) return [exact];
  const moved = await store.findPaymentsByTransaction({ transaction: given, limit: maxFound });
  if (moved.length > 0) return moved;
  if (given.length < shortestPrefix) return [];
  const found = await store.findPaymentsByPrefix({ prefix: given, limit: maxFound });
  // Nonces of Permit2 are numbers, and one can be a prefix of another.
  const whole = found.filter((payment) => ownPartOf(payment) === given);
  return (whole.length > 0 ? whole : found).slice(0, maxFound);
};
