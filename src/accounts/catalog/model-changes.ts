import type { Clock } from '../../kit/clock.ts';
import type { ModelChange, Store } from '../../store/store.ts';
import type { Catalogs } from './catalog.ts';
import { pricedBy, priceSchema, type ModelConfig } from './model.ts';

/** For so long after a change, a proof for terms with the former price is taken: longer than buyers have to pay. */
const quoteHoldMs = 420_000;
/** The most former price lists that are kept. */
const maxFormer = 20;

/** A gateway sells by a change after this time at the latest, and the time of a read. */
export const followEveryMs = 2_000;

const farAway = Number.MAX_SAFE_INTEGER;

/** Returns the models of the settings as the changes that held at a time sold them. */
export const modelsAt = (
  models: readonly ModelConfig[],
  changes: readonly ModelChange[],
  at: number = farAway - 1,
): ModelConfig[] => {
  const held = new Map(
    changes.filter((one) => one.at <= at && at < one.until).map((change) => [change.sku, change]),
  );
  return models.flatMap((model) => {
    const change = held.get(model.sku);
    return change === undefined ? [model] : (applyChange(model, change) ?? []);
  });
};

/** Null: it is not sold, as it is off, or as the price is none of its kind: that would be a wrong price. */
const applyChange = (model: ModelConfig, { isOff, price: written }: ModelChange): ModelConfig | null => {
  if (isOff) return null;
  if (written === null) return model;
  const price = priceSchema.safeParse(written).data;
  return price !== undefined && pricedBy[model.kind].includes(price.unit) ? { ...model, price } : null;
};

/** Returns a function that puts on sale what operators changed. Gateways of one store call it every few seconds. */
export const createModelShelf = (
  models: readonly ModelConfig[],
  { store, catalogs, clock }: { store: Pick<Store, 'listModelChanges'>; catalogs: Catalogs; clock: Clock },
): (() => Promise<void>) => {
  let known = '[]';
  return async () => {
    const since = clock.now() - quoteHoldMs;
    const changes = await store.listModelChanges(since);
    const key = JSON.stringify(changes);
    if (key === known) return;
    known = key;
    const times = [...new Set(changes.map(({ at }) => at))].filter((at) => at > since);
    const former = times
      .toSorted((one, other) => other - one)
      .slice(0, maxFormer)
      .map((at) => modelsAt(models, changes, at - 1));
    catalogs.sell(modelsAt(models, changes), former);
  };
};
