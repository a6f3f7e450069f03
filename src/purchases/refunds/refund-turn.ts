import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../kit/ids.ts';
import type { Clock } from '../../kit/clock.ts';
import { waitFor } from '../../payments/core/wait.ts';
import type { Store } from '../../store/store.ts';

/** Milliseconds. */
export interface TurnTimings {
  /** How long the account stays a dead process's own. A living one renews its turn before. */
  turnMs: number;
  /** How long to wait for the account; above `turnMs`, the turn of a dead process runs out meanwhile. */
  turnWaitMs: number;
}

const pollMs = 100;
const shortestRenewalMs = 10;

interface Turns {
  store: Pick<Store, 'takeSenderTurn' | 'endSenderTurn'>;
  clock: Clock;
  timings: TurnTimings;
}

/**
 * Has an account to itself for `work`, which asks `isOurs` before it makes use of what it found out; null when the
 * account was not to be had in time. The turn is renewed while the work goes on, and ended with it.
 */
export const inSenderTurn = async <T>(
  { store, clock, timings: { turnMs, turnWaitMs } }: Turns,
  { sender, signal }: { sender: string; signal: AbortSignal },
  work: (isOurs: () => boolean) => Promise<T>,
): Promise<{ value: T } | null> => {
  const owner = `refund/${newId()}`;
  let until = 0;
  const take = async (): Promise<boolean> => {
    const now = clock.now();
    const isTaken = await store.takeSenderTurn({ sender, owner, until: now + turnMs, now });
    if (isTaken) until = now + turnMs;
    return isTaken;
  };
  /** A turn that ran out is not taken again: others may have sent meanwhile. */
  const renew = async (ended: AbortSignal): Promise<void> => {
    while (await waitFor(Math.max(turnMs / 3, shortestRenewalMs), ended))
      if (clock.now() >= until || !(await take())) return;
  };

  const giveUpAt = clock.now() + turnWaitMs;
  while (!(await take())) {
    if (clock.now() >= giveUpAt) return null;
    await sleep(pollMs, undefined, { signal });
  }
  const ending = new AbortController();
  const renewing = Promise.allSettled([renew(ending.signal)]);
  try {
    return { value: await work(() => clock.now() < until) };
  } finally {
    ending.abort();
    // A store that failed here let the turn run out, and fails what the work writes next, too.
    await renewing;
    await store.endSenderTurn({ sender, owner });
  }
};
