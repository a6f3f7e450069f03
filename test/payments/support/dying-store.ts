import type { PaymentState, Store } from '../../../src/store/store.ts';

export interface DyingStore {
  store: Store;
  /** Resolves when the process that uses it would be dead. */
  dead: Promise<void>;
}

/** A store whose process dies before or after it moves a payment to that state: from then on nothing returns. */
export const dieAt = (store: Store, when: 'before' | 'after', state: PaymentState): DyingStore => {
  const death = Promise.withResolvers<void>();
  let isDead = false;
  const forever = (): Promise<never> => {
    isDead = true;
    death.resolve();
    return new Promise(() => {});
  };
  const watch = async <T>(to: PaymentState, write: () => Promise<T>): Promise<T> => {
    if (isDead || (to === state && when === 'before')) return forever();
    const written = await write();
    return to === state ? forever() : written;
  };
  return {
    dead: death.promise,
    store: {
      ...store,
      reservePayment: (input) => watch('reserved', () => store.reservePayment(input)),
      verifyPayment: (input) => watch(input.change.to, () => store.verifyPayment(input)),
      advancePayment: (input) => watch(input.to, () => store.advancePayment(input)),
    },
  };
};
