/** Milliseconds from each failed attempt to the next: 5 and 30 seconds, 2, 10 and 30 minutes, 2, 6 and 12 hours. */
const delays = [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000];

/** Each delay varies by up to this share, so that after an outage not all receivers are called at once. */
const jitter = 0.2;

/**
 * Returns the milliseconds from a failed attempt to the next; null after the last one. The first attempt is 1. `random`
 * is in [0, 1). The receiver may ask for a longer delay (`askedMs`), up to the next step of the schedule.
 */
export const delayAfter = (attempt: number, random: number, askedMs = 0): number | null => {
  const delay = delays[attempt - 1];
  if (delay === undefined) return null;
  const scheduled = Math.round(delay * (1 + jitter * (2 * random - 1)));
  return Math.max(scheduled, Math.min(Math.ceil(askedMs), delays[attempt] ?? delay));
};
