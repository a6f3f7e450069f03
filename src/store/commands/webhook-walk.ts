import { integer, orNull, text, type RowOf } from '../columns.ts';
import type { EngineKind } from '../statement.ts';

/** How many receivers, and so accounts, one look walks at most, however many wait: it comes every second and more. */
export const walkedReceivers = 256;

/** An SQL expression. Sorts after all receivers of the account of a receiver, and before those of the next account. */
export const endOfAccount = (kind: EngineKind, receiver: string): string =>
  kind === 'sqlite'
    ? `substr(${receiver}, 1, instr(${receiver}, ' ') - 1) || '!'`
    : `split_part(${receiver}, ' ', 1) || '!'`;

export interface DueWalk {
  now: number;
  /** Where the walk over the accounts begins: at first '', then where the last one ended. */
  after: string;
  /** Receivers at which the walk over those of their account stopped; it goes on behind them. */
  places: readonly string[];
}

export interface DueWebhook {
  id: string;
  accountId: string | null;
  url: string;
}

export interface DueWebhooks {
  due: DueWebhook[];
  accounts: {
    /** '': the operator. */
    account: string;
    /** The receiver at which its walk stopped because its share was used up. Null: the next begins at its first. */
    place: string | null;
  }[];
  /** Where the next walk over the accounts begins. */
  after: string;
}

export const walkedFields = {
  receiver: text(),
  /** Null: no event of the receiver is due. */
  id: orNull(text()),
  accountId: orNull(text()),
  url: orNull(text()),
  /** How many more receivers of the account the walk may look at, with this one. */
  remaining: integer(),
};

export const toDueWebhooks = (rows: RowOf<typeof walkedFields>[]): DueWebhooks => {
  const due: DueWebhook[] = [];
  const places = new Map<string, string | null>();
  for (const { receiver, id, accountId, url, remaining } of rows) {
    const account = receiver.slice(0, receiver.indexOf(' '));
    if (id !== null && url !== null) due.push({ id, accountId, url });
    if (remaining === 1) places.set(account, receiver);
    else places.set(account, places.get(account) ?? null);
  }
  const last = places.size === walkedReceivers ? [...places.keys()].sort().at(-1) : undefined;
  return {
    due,
    accounts: Array.from(places, ([account, place]) => ({ account, place })),
    after: last === undefined ? '' : `${last}!`,
  };
};
