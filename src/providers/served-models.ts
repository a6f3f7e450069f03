import type { Clock } from '../kit/clock.ts';
import type { ModelKind, RouteConfig } from './provider.ts';
import { createRouteBreaker, type RouteBreaker } from './route-attempts.ts';

/** A model of a provider, and the SKUs that it serves. */
interface ServedModel extends RouteConfig {
  kind: ModelKind;
  skus: string[];
  breaker: RouteBreaker;
}

/** Keeps one breaker for each upstream model. */
export const createServedModels = (clock: Clock) => {
  const models = new Map<string, ServedModel>();
  return {
    /** SKUs that share an upstream model share its breaker. */
    breakerOf: (sku: string, kind: ModelKind, { provider, model }: RouteConfig): RouteBreaker => {
      const name = JSON.stringify([kind, provider, model]);
      const known = models.get(name);
      const breaker = known?.breaker ?? createRouteBreaker(clock);
      models.set(name, { kind, provider, model, skus: [...(known?.skus ?? []), sku], breaker });
      return breaker;
    },
    /** Tells of the models of a provider how their last calls from this process went. */
    healthOf: (name: string) =>
      [...models.values()]
        .filter(({ provider }) => provider === name)
        .map(({ kind, model, skus, breaker }) => ({
          kind,
          model,
          skus,
          state: breaker.state(),
          restMs: breaker.restMs(),
          ...breaker.health.read(),
        })),
  };
};
