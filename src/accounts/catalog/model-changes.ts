import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../kit/clock.ts';
import type { ModelChange, Store } from '../../store/store.ts';
import type { Catalogs, FormerModels } from './catalog.ts';
import { pricedBy, priceSchema, type ModelConfig } from './model.ts';

/** For so long after a change, a proof for terms with the former price is taken: longer than buyers have to pay. */
const quoteHoldMs = 420_000;
/** The most former price lists that are kept. */
const maxFormer = 20;

/** A gateway sells by a change after this time at the latest, and the time of a read. */
export const followEveryMs = 2_000;

/** Returns the models of the settings as the changes that held at a time sold them. */
export const modelsAt = (
  models: readonly ModelConfig[],
  changes: readonly ModelChange[],
  at: number = Number.MAX_SAFE_INTEGER - 1,
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

export type ModelShelf = ReturnType<typeof createModelShelf>;

/** Puts on sale the models of the settings, as operators changed them. */
export const createModelShelf = (
  given: readonly ModelConfig[],
  { store, catalogs, clock }: { store: Pick<Store, 'listModelChanges'>; catalogs: Catalogs; clock: Clock },
) => {
  let models = given;
  let sold = given;
  let changes: readonly ModelChange[] = [];
  /** Lists that were sold until lately, the newest first. */
  let former: readonly FormerModels[] = [];
  /** What was sold before other settings came, which is not worked out again from theirs. */
  let replaced: readonly FormerModels[] = [];
  let restockedAt = 0;
  let following: Promise<void> = Promise.resolve();

  const put = (): void => {
    const now = clock.now();
    const since = Math.max(now - quoteHoldMs, restockedAt);
    const times = [...new Set(changes.map(({ at }) => at))].filter((at) => at > since);
    const changed = times.map((at) => ({
      until: at + quoteHoldMs,
      models: modelsAt(models, changes, at - 1),
    }));
    former = [...changed, ...replaced]
      .filter(({ until }) => until > now)
      .toSorted((one, other) => other.until - one.until)
      .slice(0, maxFormer);
    sold = modelsAt(models, changes);
    catalogs.sell({ settings: models, sold, formerly: former });
  };
  const follow = async (): Promise<void> => {
    const found = await store.listModelChanges(clock.now() - quoteHoldMs);
    if (isDeepStrictEqual(found, changes)) return;
    changes = found;
    put();
  };

  return {
    /** Gateways of one store call it every few seconds. One read at a time: an older one cannot replace a newer one. */
    follow: (): Promise<void> => (following = following.then(follow, follow)),
    /** Sells the models of other settings. */
    restock: (settings: readonly ModelConfig[]): void => {
      restockedAt = clock.now();
      replaced = [{ until: restockedAt + quoteHoldMs, models: sold }, ...former];
      models = settings;
      put();
    },
  };
};
