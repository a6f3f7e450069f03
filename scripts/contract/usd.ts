/** Converts a decimal amount to nano-dollars. */
export const toNano = (amount: unknown): bigint => {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(amount)) ?? [];
  const nano = BigInt(whole) * 1_000_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
  return sign === '-' ? -nano : nano;
};

export const fromNano = (nano: bigint): string => {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(10, '0');
  const fraction = digits.slice(-9).replace(/0+$/, '').padEnd(2, '0');
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -9)}.${fraction}`;
};

/** Returns the charge for tokens at decimal rates per million, rounded up to a nano-dollar. */
export const tokenCharge = (
  tokens: { input: number; output: number },
  rates: { input: string; output: string },
): bigint => {
  const scale = 1_000_000n;
  const exact = (rate: string): bigint => {
    const [whole = '0', fraction = ''] = rate.split('.');
    return BigInt(whole + fraction.slice(0, 18).padEnd(18, '0'));
  };
  // Rates are in 10^-18 dollars per million tokens. Dividing the sum by 10^6 tokens and 10^9 gives nano-dollars.
  const sum = BigInt(tokens.input) * exact(rates.input) + BigInt(tokens.output) * exact(rates.output);
  const divisor = scale * 1_000_000_000n;
  return (sum + divisor - 1n) / divisor;
};
