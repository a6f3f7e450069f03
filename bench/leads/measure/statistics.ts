/** How a set of times is spread, in milliseconds. */
export interface Spread {
  count: number;
  p50: number;
  p99: number;
  max: number;
  mean: number;
}

/** Percentiles by nearest rank: each is one of the times measured. Null without any. */
export const spreadOf = (timesMs: readonly number[]): Spread | null => {
  if (timesMs.length === 0) return null;
  const sorted = timesMs.toSorted((a, b) => a - b);
  const percentile = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return {
    count: sorted.length,
    p50: rounded(percentile(0.5)),
    p99: rounded(percentile(0.99)),
    max: rounded(percentile(1)),
    mean: rounded(sorted.reduce((sum, time) => sum + time, 0) / sorted.length),
  };
};

/** To the microsecond: below that a clock tells nothing. */
export const rounded = (milliseconds: number): number => Math.round(milliseconds * 1000) / 1000;
