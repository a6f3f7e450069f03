import { networkFamilies } from '../chains/networks.ts';
import { AppError } from '../../kit/errors.ts';
import type { ListedPayment, Payment, Store } from '../../store/store.ts';
import type { PaymentState } from '../../rules/payments.ts';

/** Shorter prefixes would match by chance. */
const shortestPrefix = 6;

const maxFound = 10;

/** Returns the last part of an identity: the nonce on EVM, the hash of the message on Solana. */
export const ownPartOf = ({ identity }: Pick<Payment, 'identity'>): string =>
  identity.slice(identity.lastIndexOf(':') + 1);

/**
 * Finds payments by identity, by transaction, by the last part of the identity (nonce or message hash), or by a prefix
 * of any of these. Whole matches come before prefixes. Returns at most ten.
 */
const findPayments = async (
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

/** Above the number of refunds that a payment can have. */
export const maxRefunds = 1_000;

/** Finds the one payment with this identity, transaction, or beginning of either. Throws AppError. */
export const requirePayment = async (store: Store, given: string): Promise<Payment> => {
  const [payment, ...others] = await findPayments(store, given);
  const shown = JSON.stringify(given.length > 200 ? `${given.slice(0, 80)}…` : given);
  if (payment === undefined)
    throw new AppError(
      'payment_not_found',
      `There is no payment ${shown}. Give an identity, a transaction, or at least the first ${shortestPrefix} ` +
        'characters of one.',
    );
  if (others.length > 0)
    throw new AppError(
      'payment_ambiguous',
      `More than one payment begins with ${shown}: ${[payment, ...others].map(({ identity }) => identity).join(', ')}`,
    );
  return payment;
};

const pageSize = 200;

type Wanted = Parameters<Store['listPayments']>[0];

/** Reads payments, newest first, page by page, so that no read of the store is large. */
export const readPayments = async function* (
  store: Store,
  wanted: Omit<Wanted, 'limit'>,
): AsyncGenerator<ListedPayment> {
  let before = wanted.before;
  for (;;) {
    const page: ListedPayment[] = await store.listPayments({ ...wanted, before, limit: pageSize });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    before = { createdAt: last.createdAt, identity: last.identity };
  }
};

/** A payment that settles, or a refund that is not signed, for longer is stuck. */
export const stuckAfterMs = 15 * 60_000;

const readFirst = async (
  store: Store,
  wanted: Omit<Wanted, 'limit'>,
  limit: number,
): Promise<ListedPayment[]> => {
  const payments: ListedPayment[] = [];
  for await (const payment of readPayments(store, wanted)) {
    payments.push(payment);
    if (payments.length === limit) break;
  }
  return payments;
};

const newestFirst = (one: ListedPayment, other: ListedPayment): number =>
  other.createdAt - one.createdAt || (one.identity < other.identity ? 1 : -1);

/** Lists payments that should have ended by themselves: with an unknown outcome, or settling for too long. */
const readStuck = async (
  store: Store,
  { limit, ...wanted }: Wanted,
  now: number,
): Promise<ListedPayment[]> => {
  const among = (...states: PaymentState[]): PaymentState[] =>
    states.filter((state) => wanted.states?.includes(state) ?? true);
  const settling = { states: among('produced', 'broadcasting'), updatedBefore: now - stuckAfterMs };
  const unknown = await readFirst(store, { ...wanted, states: among('unknown') }, limit);
  return [...unknown, ...(await readFirst(store, { ...wanted, ...settling }, limit))].toSorted(newestFirst);
};

/** Lists the newest payments; with `stuckAt`, an epoch time in ms, only those that should have ended by then. */
export const listPayments = async (
  store: Store,
  wanted: Wanted,
  stuckAt: number | null,
): Promise<{ payments: ListedPayment[]; hasMore: boolean }> => {
  const more = { ...wanted, limit: wanted.limit + 1 };
  const found = await (stuckAt === null
    ? readFirst(store, more, more.limit)
    : readStuck(store, more, stuckAt));
  return { payments: found.slice(0, wanted.limit), hasMore: found.length > wanted.limit };
};
