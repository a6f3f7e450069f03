import type { Clock } from '../kit/clock.ts';
import type { ProviderError, ProviderErrorCode, ProviderFailure } from './provider-error.ts';

export type RouteHealth = ReturnType<typeof createRouteHealth>;

/** Remembers the last success and the last failure of one provider's model, for the operator. */
export const createRouteHealth = (clock: Clock) => {
  let lastSuccessAt: number | null = null;
  let lastFailure: { failure: ProviderFailure; code: ProviderErrorCode; at: number } | null = null;
  return {
    succeeded: (): void => {
      lastSuccessAt = clock.now();
    },
    /** A wrong request says nothing about the provider. */
    failed: ({ failure, code }: ProviderError): void => {
      if (failure !== 'fatal') lastFailure = { failure, code, at: clock.now() };
    },
    read: () => ({ lastSuccessAt, lastFailure }),
  };
};
