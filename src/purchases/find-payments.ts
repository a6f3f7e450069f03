import { networkFamilies } from '../payments/families.ts';
import type { Payment, Store } from '../store/store.ts';

/** Shorter beginnings would match by chance. */
export const shortestPrefix = 6;

const mostFound = 10;

/** What is last in an identity: the nonce on EVM, the hash of the message on Solana. */
export const ownPartOf = ({ identity }: Pick<Payment, 'identity'>): string =>
  identity.slice(identity.lastIndexOf(':') + 1);

/**
 * The payments that are meant by an identity, by a transaction, by the identity's own part (its nonce or message
 * hash), or by the beginning of any of these; what is named whole comes before what only begins so. At most ten.
 */
export const findPayments = async (
  store: Pick<Store, 'getPayment' | 'findPaymentsByTransaction' | 'findPaymentsByPrefix'>,
  name: string,
): Promise<Payment[]> => {
  const given = networkFamilies.reduce((text, family) => family.normalize(text), name);
  const exact = await store.getPayment(given);
  if (exact !== null) return [exact];
  const moved = await store.findPaymentsByTransaction({ transaction: given, limit: mostFound });
  if (moved.length > 0) return moved;
  if (given.length < shortestPrefix) return [];
  const found = await store.findPaymentsByPrefix({ prefix: given, limit: mostFound });
  // Nonces of Permit2 are numbers, of which one can be the beginning of another.
  const whole = found.filter((payment) => ownPartOf(payment) === given);
  return (whole.length > 0 ? whole : found).slice(0, mostFound);
};
