export interface SharesOptions {
  total: number;
  perHost: number;
  perAccount: number;
}

/** Whom a delivery takes time of. */
export interface Parties {
  /** The receiver, by name and port. */
  host: string;
  accountId: string;
}

/** Places of which no receiver and no customer gets more than a share. */
export interface Shares {
  readonly free: number;
  /** Takes a place; false when there is none now. */
  enter(parties: Parties): boolean;
  leave(parties: Parties): void;
}

export const createShares = ({ total, perHost, perAccount }: SharesOptions): Shares => {
  const hosts = new Map<string, number>();
  const accounts = new Map<string, number>();
  let taken = 0;
  return {
    get free() {
      return total - taken;
    },
    enter: ({ host, accountId }) => {
      const isFull =
        taken >= total || (hosts.get(host) ?? 0) >= perHost || (accounts.get(accountId) ?? 0) >= perAccount;
      if (isFull) return false;
      taken += 1;
      add(hosts, host, 1);
      add(accounts, accountId, 1);
      return true;
    },
    leave: ({ host, accountId }) => {
      taken -= 1;
      add(hosts, host, -1);
      add(accounts, accountId, -1);
    },
  };
};

const add = (counts: Map<string, number>, key: string, change: 1 | -1): void => {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
};
