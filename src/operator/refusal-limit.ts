import { createWindowCounter } from '../limits/minute-limit.ts';

const hourMs = 3_600_000;
const maxPerActor = 20;
/** Strangers are counted together, too, because one of them may have many addresses. */
const maxOfStrangers = 60;

/** The beginning of an actor that is known by its address alone. */
export const strangerPrefix = 'address:';

export type RefusalLimit = ReturnType<typeof createRefusalLimit>;

/**
 * Bounds the rows that refused calls add to the audit log in an hour. The returned function counts one refusal, and
 * returns the number of refusals that were left out, for its row. It returns null for a refusal without a row. The 1st,
 * 10th, 100th and so on that is left out has a row.
 */
export const createRefusalLimit = (nowMs?: () => number) => {
  const counter = (maxBuckets: number) => createWindowCounter({ windowMs: hourMs, maxBuckets, nowMs });
  // A flood of addresses must not take the place of keys.
  const [ofKey, ofAddress, ofStrangers, ofLeftOut] = [counter(1_000), counter(1_000), counter(1), counter(1)];
  return (actor: string): number | null => {
    const hasRow = actor.startsWith(strangerPrefix)
      ? ofAddress(actor).count <= maxPerActor && ofStrangers('all').count <= maxOfStrangers
      : ofKey(actor).count <= maxPerActor;
    if (hasRow) return 0;
    const { count } = ofLeftOut('all');
    return /^10*$/.test(String(count)) ? count : null;
  };
};
