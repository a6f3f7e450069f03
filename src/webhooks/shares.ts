export interface SharesOptions {
  total: number;
  perHost: number;
  perAccount: number;
  /** Of one account at one host: less than `perHost`, so that something is left to the others there. */
  perReceiver: number;
}

/** Whom a delivery takes time of. */
export interface Parties {
  /** By name and port. */
  host: string;
  accountId: string;
}

/** Places of which no host, no customer and no customer at a host gets more than a share. */
export interface Shares {
  readonly free: number;
  /** Takes a place; false when there is none now. */
  enter(parties: Parties): boolean;
  leave(parties: Parties): void;
}

export const createShares = ({ total, perHost, perAccount, perReceiver }: SharesOptions): Shares => {
  const hosts = new Map<string, number>();
  const accounts = new Map<string, number>();
  const receivers = new Map<string, number>();
  let taken = 0;
  const count = (parties: Parties, change: 1 | -1): void => {
    taken += change;
    add(hosts, parties.host, change);
    add(accounts, parties.accountId, change);
    add(receivers, receiverOf(parties), change);
  };
  return {
    get free() {
      return total - taken;
    },
    enter: (parties) => {
      const isFull =
        taken >= total ||
        (hosts.get(parties.host) ?? 0) >= perHost ||
        (accounts.get(parties.accountId) ?? 0) >= perAccount ||
        (receivers.get(receiverOf(parties)) ?? 0) >= perReceiver;
      if (isFull) return false;
      count(parties, 1);
      return true;
    },
    leave: (parties) => count(parties, -1),
  };
};

/** Names an account at a host. */
export const receiverOf = ({ host, accountId }: Parties): string => `${accountId} ${host}`;

const add = (counts: Map<string, number>, key: string, change: 1 | -1): void => {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
};
