import { randomUUID } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { Payment, PaymentState, Store } from '../../store/store.ts';

/** Who works on a payment, and until when others have to believe it. */
export interface PaymentLeases {
  /** The fields that take a lease, with a name of its own: two attempts in one process exclude each other too. */
  take(): LeaseExtension & { leaseOwner: string };
  /** The fields that keep a lease from now on. */
  extend(): LeaseExtension;
  isLive(payment: Payment): boolean;
  /** Does `work` and renews the lease as long as it takes. */
  keep<T>(held: { payment: Payment; states: readonly PaymentState[] }, work: () => Promise<T>): Promise<T>;
}

/** Until when a lease is to be believed, and when somebody should look what became of it. */
export interface LeaseExtension {
  leaseUntil: number;
  checkAt: number;
}

/** The name of the lease under which `payment` was read; every change by its holder names it. */
export const leaseOf = ({ identity, leaseOwner }: Pick<Payment, 'identity' | 'leaseOwner'>): string => {
  if (leaseOwner === null) throw new Error(`payment ${identity} is worked on without a lease`);
  return leaseOwner;
};

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
  const extend = (): LeaseExtension => {
    const until = clock.now() + leaseMs;
    return { leaseUntil: until, checkAt: until };
  };

  const renew = async (payment: Payment, states: readonly PaymentState[]): Promise<void> => {
    for (const state of states) {
      const renewed = await store.advancePayment({
        identity: payment.identity,
        from: [state],
        to: state,
        owner: leaseOf(payment),
        set: extend(),
        now: clock.now(),
      });
      if (renewed !== null) return;
    }
  };

  return {
    take: () => ({ leaseOwner: `${owner}/${randomUUID()}`, ...extend() }),
    extend,
    isLive: ({ leaseOwner, leaseUntil }) =>
      leaseOwner !== null && leaseUntil !== null && leaseUntil > clock.now(),
    keep: async ({ payment, states }, work) => {
      let renewals = 0;
      const timer = setInterval(
        () => {
          renewals += 1;
          if (renewals === maxRenewals) clearInterval(timer);
          renew(payment, states).catch((error: unknown) =>
            log.warn({ err: error, payment: payment.identity }, 'renewing a payment lease failed'),
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
