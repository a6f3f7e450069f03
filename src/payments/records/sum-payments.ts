import type { PaymentSum, Store, BoughtSum } from '../../store/store.ts';
import type { TokenTexts } from './token-amount.ts';
import { formatDecimal, formatUsd, nanoPerUsd, type Nano } from '../../kit/money.ts';

type FindToken = TokenTexts['findToken'];

/** Dollars are summed in 10^-18, which is exact for every token. */
const usdDecimals = 18;

interface Total {
  payments: number;
  received: bigint;
  refunds: number;
  refunded: bigint;
}

/** One token is one dollar. Null for an unknown token, whose value is not known either. */
const toTotal = (sum: PaymentSum, findToken: FindToken): Total | null => {
  const token = findToken(sum);
  if (token === null || token.decimals > usdDecimals) return null;
  const scale = 10n ** BigInt(usdDecimals - token.decimals);
  const { payments, amount, refunds, refunded } = sum;
  return { payments, received: amount * scale, refunds, refunded: refunded * scale };
};

const addTotals = (totals: readonly Total[]): Total =>
  totals.reduce(
    (sum, { payments, received, refunds, refunded }) => ({
      payments: sum.payments + payments,
      received: sum.received + received,
      refunds: sum.refunds + refunds,
      refunded: sum.refunded + refunded,
    }),
    { payments: 0, received: 0n, refunds: 0, refunded: 0n },
  );

const usd = (amount: bigint): string => formatDecimal(amount, usdDecimals);

const totalJson = ({ payments, received, refunds, refunded }: Total) => ({
  payments,
  received_usd: usd(received),
  refunds,
  refunded_usd: usd(refunded),
  net_usd: usd(received - refunded),
});

interface Row {
  sum: PaymentSum;
  total: Total | null;
}

const sumJson = ({ sum, total }: Row) => ({
  network: sum.network,
  asset: sum.asset,
  day: sum.day,
  ...(total === null ? { payments: sum.payments, refunds: sum.refunds } : totalJson(total)),
  received_units: sum.amount.toString(),
  refunded_units: sum.refunded.toString(),
});

/**
 * Sums up settled payments by network and day, and settled refunds by the network and day of their end. The totals leave
 * out tokens that are not known, which stand in `left_out`.
 */
export const sumPayments = async (
  days: Parameters<Store['sumPayments']>[0],
  { store, findToken }: { store: Pick<Store, 'sumPayments'>; findToken: FindToken },
) => {
  const rows = (await store.sumPayments(days)).map((sum) => ({ sum, total: toTotal(sum, findToken) }));
  const byNetwork = [...Map.groupBy(rows, ({ sum }) => sum.network)].flatMap(
    ([network, ofNetwork]): [string, Total][] => {
      const totals = ofNetwork.flatMap(({ total }) => total ?? []);
      return totals.length === 0 ? [] : [[network, addTotals(totals)]];
    },
  );
  return {
    sums: rows.map(sumJson),
    by_network: byNetwork.map(([network, total]) => ({ network, ...totalJson(total) })),
    total: totalJson(addTotals(byNetwork.map(([, total]) => total))),
    left_out: rows.filter(({ total }) => total === null).map(sumJson),
  };
};

const soldBy = (
  { sales, soldAmount, soldNetwork: network, soldAsset: asset }: BoughtSum,
  findToken: FindToken,
): Nano => {
  if (soldAmount === null || network === null || asset === null) return 0n;
  const token = findToken({ network, asset });
  return token === null ? 0n : (BigInt(sales) * soldAmount * nanoPerUsd) / 10n ** BigInt(token.decimals);
};

/** Sums up, by operation, the money spent at upstreams, and the price of the calls and jobs that it was spent for. */
export const sumBought = (sums: readonly BoughtSum[], findToken: FindToken) =>
  [...Map.groupBy(sums, ({ operation }) => operation)].map(([operation, rows]) => {
    const add = (read: (row: BoughtSum) => Nano): Nano => rows.reduce((sum, row) => sum + read(row), 0n);
    const bought = add((row) => row.bought);
    const sold = add((row) => row.charged + soldBy(row, findToken));
    return {
      operation,
      payments: rows.reduce((sum, { payments }) => sum + payments, 0),
      bought_usd: formatUsd(bought),
      sold_usd: formatUsd(sold),
      margin_usd: formatUsd(sold - bought),
    };
  });
