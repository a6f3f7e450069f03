import { formatUsd, nanoPerUsd, type Nano } from '../../kit/money.ts';
import type { BoughtSum } from '../../store/store.ts';
import type { FindToken } from '../records/token-amount.ts';

/** One token is one dollar. Nothing for an unknown token. */
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
