import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Payment, PaymentState, Store } from '../store/store.ts';

/** Who works on a payment, and until when others have to believe it. */
export interface PaymentLeases {
  readonly owner: string;
  /** The fields that take a lease, or renew it. */
  take(): { leaseOwner: string; leaseUntil: number };
  isLive(payment: Payment): boolean;
  /** Does `work` and renews the lease as long as it takes. */
  keep<T>(held: { identity: string; states: readonly PaymentState[] }, work: () => Promise<T>): Promise<T>;
}

/** The fields that give a lease up. */
export const noLease = { leaseOwner: null, leaseUntil: null } as const;

/** No work takes as many renewals as this; what hangs so long is given up to others. */
const maxRenewals = 40;

export const createPaymentLeases = (options: {
  store: Store;
  owner: string;
  leaseMs: number;
  clock: Clock;
  log: Log;
}): PaymentLeases => {
  const { store, owner, leaseMs, clock, log } = options;
  const take = () => ({ leaseOwner: owner, leaseUntil: clock.now() + leaseMs });

  const renew = async (identity: string, states: readonly PaymentState[]): Promise<void> => {
    for (const state of states) {
      const renewed = await store.advancePayment({
        identity,
        from: [state],
        to: state,
        owner,
        set: { leaseUntil: take().leaseUntil },
        now: clock.now(),
      });
      if (renewed !== null) return;
    }
  };

  return {
    owner,
    take,
    isLive: ({ leaseOwner, leaseUntil }) =>
      leaseOwner !== null && leaseUntil !== null && leaseUntil > clock.now(),
    keep: async ({ identity, states }, work) => {
      let renewals = 0;
      const timer = setInterval(
        () => {
          renewals += 1;
          if (renewals === maxRenewals) clearInterval(timer);
          renew(identity, states).catch((error: unknown) =>
            log.warn({ err: error, payment: identity }, 'renewing a payment lease failed'),
          );
        },
        Math.ceil(leaseMs / 3),
      );
      try {
        return await work();
      } finally {
        clearInterval(timer);
      }
    },
  };
};
