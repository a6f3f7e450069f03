import { receiverOf, type Parties } from './shares.ts';

/** Whose turn it is when there is not room for all. */
export interface Turns {
  /**
   * Those who wait, in the order of their turns: accounts that had none or had theirs longest ago come first, and
   * within an account its receivers likewise; among equals the order given stays.
   */
  order<Waiting extends Parties>(waiting: readonly Waiting[]): Waiting[];
  /** Notes that these have their turn now. */
  take(parties: Parties): void;
}

export const createTurns = (): Turns => {
  /** Number of the last turn by account and by receiver. */
  let last = new Map<string, number>();
  let turn = 0;
  const lastOf = (key: string): number => last.get(key) ?? 0;
  return {
    order: (waiting) => {
      // Who waits for nothing is forgotten, so no more is known than there are who wait.
      const keys = waiting.flatMap((parties) => [parties.accountId, receiverOf(parties)]);
      last = new Map(keys.map((key) => [key, lastOf(key)]));
      return waiting.toSorted(
        (a, b) => lastOf(a.accountId) - lastOf(b.accountId) || lastOf(receiverOf(a)) - lastOf(receiverOf(b)),
      );
    },
    take: (parties) => {
      turn += 1;
      last.set(parties.accountId, turn);
      last.set(receiverOf(parties), turn);
    },
  };
};
