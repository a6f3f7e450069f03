import type { Store } from '../../../src/store/store.ts';
import type { PaymentState } from '../../../src/rules/payments.ts';

export interface DyingStore {
  store: Store;
  /** Resolves when the process that uses it would be dead. */
  dead: Promise<void>;
  /** Lets what waits for the store fail, so that a gate of the dead process can be closed. */
  bury: () => void;
}

/** A store whose process dies before or after it moves a payment to that state: from then on nothing returns. */
export const dieAt = (store: Store, when: 'before' | 'after', state: PaymentState): DyingStore => {
  const death = Promise.withResolvers<void>();
  let isDead = false;
  const burial = Promise.withResolvers<never>();
  burial.promise.catch(() => null);
  const forever = (): Promise<never> => {
    isDead = true;
    death.resolve();
    return burial.promise;
  };
  const watch = async <T>(to: PaymentState, write: () => Promise<T>): Promise<T> => {
    if (isDead || (to === state && when === 'before')) return forever();
    const written = await write();
    return to === state ? forever() : written;
  };
  return {
    dead: death.promise,
    bury: () => burial.reject(new Error('the process is dead')),
    store: {
      ...store,
      reservePayment: (input) => watch('reserved', () => store.reservePayment(input)),
      verifyPayment: (input) => watch(input.change.to, () => store.verifyPayment(input)),
      advancePayment: (input) => watch(input.to, () => store.advancePayment(input)),
    },
  };
};
