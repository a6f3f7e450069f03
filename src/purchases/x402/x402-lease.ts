import { randomUUID } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { Payment, PaymentState, Store } from '../../store/store.ts';

/** Names the process that works on a payment, and until when others must leave it alone. */
export interface PaymentLeases {
  /** Returns the fields that take a lease. Each has its own name, so two attempts in one process exclude each other. */
  take(): LeaseExtension & { leaseOwner: string };
  /** Returns the fields that prolong a lease. */
  extend(): LeaseExtension;
  isLive(payment: Payment): boolean;
  /** Runs `work` and renews the lease until it ends. */
  keep<T>(held: { payment: Payment; states: readonly PaymentState[] }, work: () => Promise<T>): Promise<T>;
}

/** When a lease runs out, and when the reconciler should look at the payment. */
export interface LeaseExtension {
  leaseUntil: number;
  checkAt: number;
}

/** Returns the name of the lease under which `payment` was read. Every change by its holder names it. */
export const leaseOf = ({ identity, leaseOwner }: Pick<Payment, 'identity' | 'leaseOwner'>): string => {
  if (leaseOwner === null) throw new Error(`payment ${identity} is worked on without a lease`);
  return leaseOwner;
};

/** The fields that give a lease up. */
export const noLease = { leaseOwner: null, leaseUntil: null } as const;

/** Work that hangs for more renewals is left to other processes. */
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
