import { formatUsd } from '../../kit/money.ts';
import type { ToolPrice } from '../../mounts/mount-settings.ts';

/** Tells the price of a tool to programs: of a call that succeeds, or of each of so many rows of its answer. */
export const toPriceParts = ({ price, rows }: ToolPrice) => ({
  price_usd: formatUsd(rows?.each ?? price),
  unit: rows === null ? ('call' as const) : ('row' as const),
  max_rows: rows?.max ?? null,
});

/** The texts of these members. */
export const priceTexts = {
  price_usd: 'What a `unit` costs; nothing if the call fails.',
  max_rows: 'The most rows of an answer. The others are cut, and not charged.',
};

/** Tells it to people and models, such as "$0.04 a call that succeeds". */
export const priceInWords = ({ price, rows }: ToolPrice): string =>
  rows === null
    ? `$${formatUsd(price)} a call that succeeds`
    : `$${formatUsd(rows.each)} a row, at most ${rows.max} rows ($${formatUsd(price)})`;
