const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Milliseconds from each failed attempt to the next. */
const delays = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  2 * hour,
  6 * hour,
  12 * hour,
] as const;

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
