import type { Log } from '../kit/log.ts';
import { repeat } from '../kit/repeat.ts';
import type { Store } from '../store/store.ts';
import { minuteMs, type NotedKeys } from './authenticate.ts';

export type LastUse = ReturnType<typeof createLastUse>;

/**
 * Keeps in memory which keys were used, which `createAuthenticate` notes, and writes it later: a call waits for nothing. A
 * crash loses what was not written, a minute of use at most.
 */
export const createLastUse = ({ store, log }: { store: Pick<Store, 'writeLastUse'>; log: Log }) => {
  const noted: NotedKeys = new Map();

  const write = async (): Promise<void> => {
    const byMinute = Map.groupBy(noted, ([, minute]) => minute);
    noted.clear();
    for (const [at, used] of byMinute) await store.writeLastUse({ ids: used.map(([id]) => id), at });
  };
  return {
    noted,
    write,
    /** Writes every minute until the signal aborts. */
    begin: (signal: AbortSignal): Promise<void> =>
      repeat({ what: 'noting the last use of keys', intervalMs: minuteMs, signal, log, work: write }),
  };
};
