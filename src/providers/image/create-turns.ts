/** There are more tasks waiting than may. */
export class TooManyWaitingError extends Error {
  override readonly name = 'TooManyWaitingError';

  constructor() {
    super('too many tasks are waiting for their turn');
  }
}

export interface TurnsOptions {
  atOnce: number;
  /** How many tasks may wait; one more is refused. */
  queueLimit: number;
}

/**
 * Runs `work` when its turn comes. Rejects with TooManyWaitingError, with the signal's reason while it waits, and with
 * what `work` throws.
 */
export type Turns = <Result>(work: () => Promise<Result>, signal: AbortSignal) => Promise<Result>;

/** First come, first served, a fixed number at once. */
export const createTurns = ({ atOnce, queueLimit }: TurnsOptions): Turns => {
  const waiting = new Set<() => void>();
  let running = 0;

  const enter = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (running < atOnce) {
      running += 1;
      return;
    }
    if (waiting.size >= queueLimit) throw new TooManyWaitingError();
    await new Promise<void>((resolve, reject) => {
      const admit = (): void => {
        leave();
        resolve();
      };
      const giveUp = (): void => {
        leave();
        reject(signal.reason);
      };
      const leave = (): void => {
        waiting.delete(admit);
        signal.removeEventListener('abort', giveUp);
      };
      waiting.add(admit);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  };

  /** The next takes over the turn as it is, so that nobody can slip in between. */
  const leave = (): void => {
    const [next] = waiting;
    if (next === undefined) running -= 1;
    else next();
  };

  return async (work, signal) => {
    await enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  };
};
