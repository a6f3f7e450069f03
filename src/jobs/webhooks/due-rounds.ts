import { walkedReceivers } from '../../store/commands/webhook-walk.ts';
import type { DueWalk, DueWebhooks } from '../../store/store.ts';

/**
 * Goes round through all accounts with pending events, and through the receivers of each, in as many looks as it takes.
 * Each look sees a bounded part of them.
 */
export const createDueRounds = () => {
  let after = '';
  /** By account, the receiver behind which its next look begins. */
  const places = new Map<string, string>();

  /** Forgets the places of the accounts that were in reach of this look, which may have nothing pending any more. */
  const forget = (end: string): void => {
    for (const [account, place] of places)
      if (place > after && (end === '' || place < end)) places.delete(account);
  };

  return {
    /** Where to look next. One look reaches no more accounts, so that it needs no more places. */
    next: (): Omit<DueWalk, 'now'> => ({
      after,
      places: [...places.values()]
        .filter((place) => place > after)
        .sort()
        .slice(0, walkedReceivers),
    }),
    /** Moves on to the next accounts, and within those that `mayMove` names to their next receivers. */
    moveOn: (
      { accounts, after: end }: Omit<DueWebhooks, 'due'>,
      mayMove: (account: string) => boolean,
    ): void => {
      const kept = accounts.map(({ account, place }) => ({
        account,
        place: mayMove(account) ? place : (places.get(account) ?? null),
      }));
      forget(end);
      for (const { account, place } of kept) if (place !== null) places.set(account, place);
      after = end;
    },
  };
};
