import { createPlaces } from '../kit/places.ts';
import { OutboundError } from './outbound.ts';

/** Places for calls that may run at once, with a line of limited length before them. */
export interface Slots {
  /**
   * Waits for a place and answers the way to give it back (more than once does no harm). Nobody who is known gets more than
   * a quarter of the places and of the line; who waits for his own share is overtaken. Throws OutboundError `busy` when the
   * line, or the account's share of it, is full, or the signal's reason.
   */
  take(options: TakeOptions): Promise<() => void>;
}

export interface TakeOptions {
  signal: AbortSignal;
  /** For whom, where that is known. */
  accountId?: string | undefined;
}

/** Takes a place if there is one now. */
type Waiter = () => void;

export const createSlots = ({ atOnce, waiting }: { atOnce: number; waiting: number }): Slots => {
  const places = createPlaces(atOnce);
  const linePlaces = createPlaces(waiting);
  const line = new Set<Waiter>();

  const enter = (accountId: string | undefined): (() => void) | null => {
    const free = places.take(accountId);
    if (free === null) return null;
    return () => {
      free();
      for (const tryAgain of line) tryAgain();
    };
  };

  return {
    take: ({ signal, accountId }) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        // Whoever waits could not take what is free now: a place that is given back goes through the line first.
        const release = enter(accountId);
        if (release !== null) {
          resolve(release);
          return;
        }
        const leaveLine = linePlaces.take(accountId);
        if (leaveLine === null) throw new OutboundError('busy', 'Too many outbound calls are waiting.');
        const leave = (): void => {
          line.delete(tryAgain);
          leaveLine();
          signal.removeEventListener('abort', abort);
        };
        const tryAgain = (): void => {
          const release = enter(accountId);
          if (release === null) return;
          leave();
          resolve(release);
        };
        const abort = (): void => {
          leave();
          reject(signal.reason);
        };
        line.add(tryAgain);
        signal.addEventListener('abort', abort, { once: true });
      }),
  };
};
