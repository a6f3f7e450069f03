import { unlessAborted } from '../kit/unless-aborted.ts';

/** Shares one call among all callers with the same key while it runs. */
export interface SharedCalls<T> {
  /**
   * Returns the outcome of the running call for `key`, or of a new one. Rejects with the reason of `signal`. The call
   * itself is aborted when all its callers have left.
   */
  join(options: { key: string; signal: AbortSignal; call: (signal: AbortSignal) => Promise<T> }): Promise<T>;
}

interface Flight<T> {
  outcome: Promise<T>;
  controller: AbortController;
  waiting: number;
}

export const createSharedCalls = <T>(): SharedCalls<T> => {
  /** Has at most as many entries as there are waiting callers. */
  const flights = new Map<string, Flight<T>>();

  const forget = (key: string, flight: Flight<T>): void => {
    if (flights.get(key) === flight) flights.delete(key);
  };
  const start = (key: string, call: (signal: AbortSignal) => Promise<T>): Flight<T> => {
    const controller = new AbortController();
    const flight = { outcome: call(controller.signal), controller, waiting: 0 };
    flights.set(key, flight);
    const end = (): void => forget(key, flight);
    flight.outcome.then(end, end);
    return flight;
  };

  return {
    async join({ key, signal, call }) {
      signal.throwIfAborted();
      const flight = flights.get(key) ?? start(key, call);
      flight.waiting += 1;
      try {
        return await unlessAborted(flight.outcome, signal);
      } finally {
        flight.waiting -= 1;
        if (flight.waiting === 0) {
          forget(key, flight);
          flight.controller.abort();
        }
      }
    },
  };
};
