import { startDeadline } from './deadline.ts';

/** Waits for `outcome`. Rejects with the signal's reason when that comes first; the work itself goes on. */
export const unlessAborted = async <T>(outcome: Promise<T>, signal: AbortSignal): Promise<T> => {
  const { expired, end } = startDeadline({ signals: [signal] });
  return Promise.race([outcome, expired]).finally(end);
};
