import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../kit/ids.ts';
import type { Clock } from '../../kit/clock.ts';
import { pause } from '../../kit/repeat.ts';
import type { Store } from '../../store/store.ts';

/** Milliseconds. */
export interface TurnTimings {
  /** How long a dead process keeps the account. A living one renews its turn before. */
  turnMs: number;
  /** How long to wait for the account. Above `turnMs`, the turn of a dead process runs out meanwhile. */
  turnWaitMs: number;
}

const pollMs = 100;
const shortestRenewalMs = 10;

interface Turns {
  store: Pick<Store, 'takeAccountLease' | 'endAccountLease'>;
  clock: Clock;
  timings: TurnTimings;
}

/**
 * Runs `work` while this process has the account alone; null when the account was not free in time. The work calls
 * `isOurs` before it uses what it found out. The turn is renewed while the work runs, and ends with it.
 */
export const inAccountLease = async <T>(
  { store, clock, timings: { turnMs, turnWaitMs } }: Turns,
  { sender, signal }: { sender: string; signal: AbortSignal },
  work: (isOurs: () => boolean) => Promise<T>,
): Promise<{ value: T } | null> => {
  const owner = `refund/${newId()}`;
  let until = 0;
  const take = async (): Promise<boolean> => {
    const now = clock.now();
    const isTaken = await store.takeAccountLease({ sender, owner, until: now + turnMs, now });
    if (isTaken) until = now + turnMs;
    return isTaken;
  };
  /** A turn that ran out is not taken again: another process may have sent meanwhile. */
  const renew = async (ended: AbortSignal): Promise<void> => {
    for (;;) {
      await pause(Math.max(turnMs / 3, shortestRenewalMs), ended, { keepsAlive: true });
      if (ended.aborted || clock.now() >= until || !(await take())) return;
    }
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
    // When the store fails here, the turn runs out, and the next write of the work fails too.
    await renewing;
    await store.endAccountLease({ sender, owner });
  }
};
