import { LRUCache } from 'lru-cache';

/** Remembers since when transactions are waited for. For one network; forgotten when the process ends. */
export interface EvmSightings {
  note(transaction: string): void;
  /** Milliseconds since it was noted first; notes it, too. */
  ageMs(transaction: string): number;
}

/** Beyond so many, those not asked for longest are forgotten and seem new: they wait longer than they need. */
const mostRemembered = 10_000;

export const createEvmSightings = ({ now }: { now: () => number }): EvmSightings => {
  const firstSeen = new LRUCache<string, number>({ max: mostRemembered });
  const ageMs = (transaction: string): number => {
    const since = firstSeen.get(transaction);
    if (since !== undefined) return now() - since;
    firstSeen.set(transaction, now());
    return 0;
  };
  return {
    note: (transaction) => {
      ageMs(transaction);
    },
    ageMs,
  };
};
