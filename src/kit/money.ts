/** Integer nano-dollars (10^-9 USD). All amounts have this type, never a float. */
export type Nano = bigint;

export const nanoPerUsd: Nano = 1_000_000_000n;
export const nanoDecimals = 9;

/** An exact rate in USD per million units: `unscaled / 10^scale`. */
export interface Rate {
  readonly unscaled: bigint;
  readonly scale: number;
}

const decimalPattern = /^(-?)(\d{1,12})(?:\.(\d{1,18}))?$/;

/** Parses text such as `"12.50"` to nano-dollars. Throws RangeError on another form or a fraction below a nano-dollar. */
export const parseUsd = (text: string): Nano => {
  const match = decimalPattern.exec(text);
  if (match === null) throw new RangeError(`"${text.slice(0, 40)}" is not a decimal amount such as "12.50"`);
  const [, sign = '', whole = '', fraction = ''] = match;
  const digits = fraction.replace(/0+$/, '');
  if (digits.length > 9) throw new RangeError(`"${text}" is finer than a nano-dollar (nine decimals)`);
  const amount = BigInt(whole) * nanoPerUsd + BigInt(digits.padEnd(9, '0'));
  return sign === '-' ? -amount : amount;
};

/** Formats `amount / 10^decimals` exactly: no exponent, at least two decimals, no more trailing zeros. */
export const formatDecimal = (amount: bigint, decimals: number): string => {
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(whole.length).replace(/0+$/, '').padEnd(2, '0');
  return `${sign}${whole}.${fraction}`;
};

/** Formats nano-dollars for the wire. */
export const formatUsd = (amount: Nano): string => formatDecimal(amount, nanoDecimals);

/** Parses a non-negative rate such as `"0.175"` USD per million. Throws RangeError on another form. */
export const parseRate = (text: string): Rate => {
  const match = decimalPattern.exec(text);
  if (match === null || match[1] === '-')
    throw new RangeError(`"${text.slice(0, 40)}" is not a rate such as "1.05"`);
  const fraction = (match[3] ?? '').replace(/0+$/, '');
  return { unscaled: BigInt(`${match[2]}${fraction}`), scale: fraction.length };
};

export const formatRate = ({ unscaled, scale }: Rate): string => formatDecimal(unscaled, scale);

/** Sums units at rates per million exactly, then rounds up once to a nano-dollar. */
export const priceAtRates = (lines: readonly { units: number; rate: Rate }[]): Nano => {
  const scale = Math.max(0, ...lines.map(({ rate }) => rate.scale));
  const numerator = lines.reduce(
    (sum, { units, rate }) => sum + BigInt(units) * rate.unscaled * 10n ** BigInt(scale - rate.scale),
    0n,
  );
  // USD per million to nano-dollars: times 10^9, over 10^6.
  const nanoNumerator = numerator * 1000n;
  const denominator = 10n ** BigInt(scale);
  return (nanoNumerator + denominator - 1n) / denominator;
};

/** Returns the maximum number of whole units that `budget` pays at `rate`; Number.MAX_SAFE_INTEGER if the rate is zero. */
export const unitsAffordable = (budget: Nano, rate: Rate): number => {
  if (budget <= 0n) return 0;
  if (rate.unscaled === 0n) return Number.MAX_SAFE_INTEGER;
  const units = (budget * 10n ** BigInt(rate.scale)) / (rate.unscaled * 1000n);
  return units > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(units);
};
