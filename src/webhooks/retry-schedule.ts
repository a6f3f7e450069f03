const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** How long after each failed attempt the next one follows, in milliseconds. */
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

/** Up to this share more or less, so that the receivers of one outage are not all called at once again. */
const jitter = 0.2;

/**
 * Milliseconds from a failed attempt, the first being 1, to the next; null when there is none. `random` is in [0, 1).
 * `askedMs` is what the receiver asks to wait: it makes the delay longer, up to the next step of the schedule.
 */
export const delayAfter = (attempt: number, random: number, askedMs = 0): number | null => {
  const delay = delays[attempt - 1];
  if (delay === undefined) return null;
  const scheduled = Math.round(delay * (1 + jitter * (2 * random - 1)));
  return Math.max(scheduled, Math.min(Math.ceil(askedMs), delays[attempt] ?? delay));
};
