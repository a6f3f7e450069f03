import type { Facilitator, FacilitatorHealth, SettleOptions } from './facilitator.ts';

/** The part of an in-process facilitator that needs the chain's packages. */
export interface LocalEngine extends Pick<Facilitator, 'verify' | 'settle' | 'findOutcome'> {
  /** Whether it can settle at all. Throws when the chain does not answer, which says nothing. */
  check(signal: AbortSignal): Promise<FacilitatorHealth>;
}

/**
 * Remembers what `beforeBroadcast` threw, as the x402 schemes turn every error into a refused payment, and this
 * one is none: nothing was sent, and the caller must hear of it.
 */
export const watchHandover = (
  beforeBroadcast: SettleOptions['beforeBroadcast'],
): { beforeBroadcast: SettleOptions['beforeBroadcast']; throwIfAbandoned(): void } => {
  const errors: unknown[] = [];
  return {
    beforeBroadcast: async (outgoing) => {
      try {
        await beforeBroadcast(outgoing);
      } catch (error) {
        errors.push(error);
        throw error;
      }
    },
    throwIfAbandoned: () => {
      if (errors.length > 0) throw errors[0];
    },
  };
};
