import { isDeepStrictEqual } from 'node:util';
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

export type ModelShelf = ReturnType<typeof createModelShelf>;

/** Puts on sale the models of the settings, as operators changed them. */
export const createModelShelf = (
  given: readonly ModelConfig[],
  { store, catalogs, clock }: { store: Pick<Store, 'listModelChanges'>; catalogs: Catalogs; clock: Clock },
) => {
  let models = given;
  let sold = given;
  let changes: readonly ModelChange[] = [];
  /** What other settings sold until lately. */
  let replaced: { at: number; sold: readonly ModelConfig[] }[] = [];

  const put = (since: number): void => {
    const times = [...new Set(changes.map(({ at }) => at))].filter((at) => at > since);
    const former = [
      ...times.map((at) => ({ at, sold: modelsAt(models, changes, at - 1) })),
      ...replaced,
    ].toSorted((one, other) => other.at - one.at);
    sold = modelsAt(models, changes);
    catalogs.sell({ settings: models, sold, formerly: former.slice(0, maxFormer).map((list) => list.sold) });
  };
  const holdSince = (): number => clock.now() - quoteHoldMs;

  return {
    /** Gateways of one store call it every few seconds. */
    follow: async (): Promise<void> => {
      const since = holdSince();
      const found = await store.listModelChanges(since);
      const recent = replaced.filter(({ at }) => at > since);
      if (recent.length === replaced.length && isDeepStrictEqual(found, changes)) return;
      [changes, replaced] = [found, recent];
      put(since);
    },
    /** Sells the models of other settings. */
    restock: (settings: readonly ModelConfig[]): void => {
      replaced = [...replaced, { at: clock.now(), sold }].slice(-maxFormer);
      models = settings;
      put(holdSince());
    },
  };
};
