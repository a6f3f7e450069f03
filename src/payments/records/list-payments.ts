import type { Payment, Store } from '../../store/store.ts';
import type { PaymentState } from '../../rules/payments.ts';

const pageSize = 200;

type Wanted = Parameters<Store['listPayments']>[0];

/** Reads payments, newest first, page by page, so that no read of the store is large. */
export const readPayments = async function* (
  store: Store,
  wanted: Omit<Wanted, 'limit'>,
): AsyncGenerator<Payment> {
  let before = wanted.before;
  for (;;) {
    const page: Payment[] = await store.listPayments({ ...wanted, before, limit: pageSize });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    before = { createdAt: last.createdAt, identity: last.identity };
  }
};

const stuckAfterMs = 15 * 60_000;

const readFirst = async (store: Store, wanted: Omit<Wanted, 'limit'>, limit: number): Promise<Payment[]> => {
  const payments: Payment[] = [];
  for await (const payment of readPayments(store, wanted)) {
    payments.push(payment);
    if (payments.length === limit) break;
  }
  return payments;
};

const newestFirst = (one: Payment, other: Payment): number =>
  other.createdAt - one.createdAt || (one.identity < other.identity ? 1 : -1);

/** Lists payments that should have ended by themselves: with an unknown outcome, or settling for too long. */
const readStuck = async (store: Store, { limit, ...wanted }: Wanted, now: number): Promise<Payment[]> => {
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
): Promise<{ payments: Payment[]; hasMore: boolean }> => {
  const more = { ...wanted, limit: wanted.limit + 1 };
  const found = await (stuckAt === null
    ? readFirst(store, more, more.limit)
    : readStuck(store, more, stuckAt));
  return { payments: found.slice(0, wanted.limit), hasMore: found.length > wanted.limit };
};
