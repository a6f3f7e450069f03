import type { Payment, PaymentState, Store } from '../store/store.ts';

/** Shorter beginnings would match by chance. */
export const shortestPrefix = 6;

const unsettledStates: readonly PaymentState[] = [
  'reserved',
  'verified',
  'produced',
  'broadcasting',
  'unknown',
  'failed',
  'rejected',
];
const mostUnsettled = 2_000;
const pageSize = 200;
const mostFound = 10;

/** EVM writes hex in either case; the names of Solana differ by it. */
const fold = (text: string): string => (/^(?:0x|eip155:)/i.test(text) ? text.toLowerCase() : text);

/** What is last in an identity: the nonce on EVM, the hash of the message on Solana. */
export const ownPartOf = ({ identity }: Pick<Payment, 'identity'>): string =>
  identity.slice(identity.lastIndexOf(':') + 1);

const isMeant = (payment: Payment, given: string): boolean =>
  [payment.identity, ownPartOf(payment), payment.transaction ?? ''].some((name) =>
    fold(name).startsWith(given),
  );

const isExact = (payment: Payment, given: string): boolean =>
  payment.identity === given || fold(payment.transaction ?? '') === given;

async function* walkSettled(store: Pick<Store, 'listSettledPayments'>): AsyncGenerator<Payment[]> {
  let after: { settledAt: number; identity: string } | null = null;
  for (;;) {
    const page: Payment[] = await store.listSettledPayments({
      from: 0,
      to: Number.MAX_SAFE_INTEGER,
      after,
      limit: pageSize,
    });
    yield page;
    const last = page.at(-1);
    if (last === undefined || last.settledAt === null || page.length < pageSize) return;
    after = { settledAt: last.settledAt, identity: last.identity };
  }
}

/**
 * The payments that are meant by an identity, by a transaction, or by the beginning of either or of the identity's own
 * part (its nonce or message hash): all settled ones are looked through, and the newest of the others. At most ten.
 */
export const findPayments = async (
  store: Pick<Store, 'getPayment' | 'listPayments' | 'listSettledPayments'>,
  name: string,
): Promise<Payment[]> => {
  const given = fold(name);
  const exact = await store.getPayment(given);
  if (exact !== null) return [exact];
  if (given.length < shortestPrefix) return [];
  const found = (await store.listPayments({ states: unsettledStates, limit: mostUnsettled })).filter(
    (payment) => isMeant(payment, given),
  );
  for await (const page of walkSettled(store)) {
    found.push(...page.filter((payment) => isMeant(payment, given)));
    const whole = found.find((payment) => isExact(payment, given));
    if (whole !== undefined) return [whole];
    if (found.length >= mostFound) break;
  }
  return found.slice(0, mostFound);
};
