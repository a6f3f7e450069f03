import { LRUCache } from 'lru-cache';
import type { RouteConfig } from '../../providers/provider.ts';
import { wrongField } from '../../kit/errors.ts';
import { defaultSku } from './default-models.ts';
import type { ModelConfig, Price } from './model.ts';
import type { LimitSettings } from '../../limits/limit-settings.ts';
import { assertPricedBy, parseAccountTerms, type AccountTerms } from './account-terms.ts';
import type { Store } from '../../store/store.ts';

/** The SKUs that one account can buy. Each has a price, so nothing can be free by mistake. */
export interface Catalog {
  /** Lists the SKUs with the account's own prices, in the order of the configuration. */
  list(): readonly ModelConfig[];
  /** Null if there is no enabled SKU of that kind. */
  find(sku: string, kind: ModelConfig['kind']): ModelConfig | null;
  ownLimits: Pick<AccountTerms, 'activeVideos' | 'requestsPerMinute'>;
}

export interface Buyer {
  accountId: string;
  /** `Account.terms`; null: the operator's defaults. */
  terms: string | null;
  isSandbox: boolean;
  /** The limits of the key. Default: none. */
  limits?: { models: readonly string[] | null } | null;
}

/** Finds the catalog of each account. Throws on invalid terms: it is better to sell nothing than to sell at a wrong price. */
type FindCatalog = (buyer: Buyer) => Catalog;

interface Stock {
  settings: readonly ModelConfig[];
  sold: readonly ModelConfig[];
  formerly: readonly FormerModels[];
}

/** Models as they were sold. `until`: when the last quote of them ends, in epoch milliseconds. */
export interface FormerModels {
  until: number;
  models: readonly ModelConfig[];
}

export type Catalogs = ReturnType<typeof createCatalogs>;

type AccountLimits = Pick<LimitSettings, 'activeVideos' | 'requestsPerMinute'>;

const maxCatalogs = 1_000;

/**
 * Creates the catalogs. Sandbox credit buys sandbox SKUs, real money buys real ones. As long as no real model was ever
 * on sale, every account may use the sandbox.
 */
export const createCatalogs = (
  models: readonly ModelConfig[],
  { isSandboxModel, realSales }: { isSandboxModel(model: ModelConfig): boolean; realSales: RealSales },
) => {
  const toFind = (sold: readonly ModelConfig[]): FindCatalog => {
    const sandbox = catalogsOf(sold.filter(isSandboxModel));
    const real = catalogsOf(sold.filter((model) => !isSandboxModel(model)));
    return (buyer) => {
      const ofAccount = (buyer.isSandbox || !realSales.hasBegun() ? sandbox : real).for(buyer);
      const skus = buyer.limits?.models ?? null;
      return skus === null ? ofAccount : only(ofAccount, skus);
    };
  };
  /** By SKU, whether the sandbox serves it. Found out while nothing is called. */
  const kindsOf = (settings: readonly ModelConfig[]) =>
    new Map(settings.map((model) => [model.sku, isSandboxModel(model)]));
  let stock = models;
  let isSandboxSku = kindsOf(models);
  let former: { until: number; for: FindCatalog }[] = [];
  const catalogs = {
    /** Another one when other models are sold: a copy of the object keeps its prices. */
    for: toFind(models),
    /** Whether real models are, or ever were, on sale. */
    sellsReal: realSales.hasBegun,
    /** Await this before `for`, which uses the store's last answer. Rejects if the store does not answer. */
    refresh: realSales.refresh,
    /** Sells other models, or at other prices. `settings`: those of the settings. `formerly`: lists that were sold until lately, the newest first. */
    sell: ({ settings, sold, formerly }: Stock): void => {
      stock = settings;
      isSandboxSku = kindsOf(settings);
      catalogs.for = toFind(sold);
      former = formerly.map(({ until, models: quoted }) => ({ until, for: toFind(quoted) }));
    },
    /** Finds the catalogs with prices whose quotes still hold, the newest first. `now`: epoch milliseconds. */
    former: (now: number): Pick<(typeof former)[number], 'for'>[] =>
      former.filter(({ until }) => until > now),
    /** Returns what the operator pays for an answer of a SKU by a route; null: unknown. */
    costOf: (sku: string, { provider, model }: RouteConfig): Price | null =>
      stock
        .find((one) => one.sku === sku)
        ?.routes.find((route) => route.provider === provider && route.model === model)?.cost ?? null,
    /** Whether a job for a SKU that was admitted may run: the SKU is in the settings, and such credit still buys it. */
    mayRun: (sku: string, { isSandbox }: Pick<Buyer, 'isSandbox'>): boolean =>
      isSandboxSku.get(sku) === (isSandbox || !realSales.hasBegun()),
  };
  return catalogs;
};

const catalogsOf = (models: readonly ModelConfig[]): { for(buyer: Omit<Buyer, 'isSandbox'>): Catalog } => {
  const standard = createCatalog(models, { activeVideos: null, requestsPerMinute: null });
  const byTerms = new LRUCache<string, Catalog>({
    max: maxCatalogs,
    memoMethod: (text) => {
      const terms = parseAccountTerms(text);
      return createCatalog(offered(models, terms), terms);
    },
  });
  return {
    for: ({ accountId, terms }) => {
      if (terms === null) return standard;
      try {
        return byTerms.memo(terms);
      } catch (cause) {
        throw new Error(`the terms of account ${accountId} cannot be used`, { cause });
      }
    },
  };
};

/** Returns the enabled models at the prices of `terms`. Nobody can buy a SKU that is not in the configuration any more. */
const offered = (models: readonly ModelConfig[], { skus, prices }: AccountTerms): ModelConfig[] =>
  models
    .filter(({ sku }) => skus === null || skus.has(sku))
    .map((model) => {
      const price = prices.get(model.sku);
      if (price === undefined) return model;
      assertPricedBy(model, price);
      return { ...model, price };
    });

const createCatalog = (models: readonly ModelConfig[], ownLimits: Catalog['ownLimits']): Catalog => {
  const bySku = new Map(models.map((model) => [model.sku, model]));
  return {
    list: () => models,
    find: (sku, kind) => {
      const model = bySku.get(sku);
      return model?.kind === kind ? model : null;
    },
    ownLimits,
  };
};

const only = (catalog: Catalog, skus: readonly string[]): Catalog => ({
  ...catalog,
  list: () => catalog.list().filter(({ sku }) => skus.includes(sku)),
  find: (sku, kind) => (skus.includes(sku) ? catalog.find(sku, kind) : null),
});

/** Returns the SKU of a call that names none: the default one, or the first of its kind. Null: there is none. */
export const defaultModel = (models: readonly ModelConfig[], kind: ModelConfig['kind']): ModelConfig | null =>
  models.find((model) => model.kind === kind && model.sku === defaultSku) ??
  models.find((model) => model.kind === kind) ??
  null;

/** Returns the SKU of this name, or the default one of its kind without a name. Throws AppError `model_not_found`. */
export const findModel = (
  catalog: Catalog,
  kind: ModelConfig['kind'],
  sku: string | null | undefined,
): ModelConfig => {
  const found = typeof sku === 'string' ? catalog.find(sku, kind) : defaultModel(catalog.list(), kind);
  if (found === null)
    throw wrongField('model_not_found', 'model', `model: there is no such ${kind} SKU. See GET /v1/models.`);
  return found;
};

/** Returns the limits of an account: from its own terms, else the gateway's. Throws on invalid terms. */
export const accountLimits = (
  buyer: Buyer,
  { catalogs, config }: { catalogs: Catalogs; config: AccountLimits },
): AccountLimits => {
  const { ownLimits } = catalogs.for(buyer);
  return {
    activeVideos: ownLimits.activeVideos ?? config.activeVideos,
    requestsPerMinute: ownLimits.requestsPerMinute ?? config.requestsPerMinute,
  };
};

export type RealSales = Awaited<ReturnType<typeof openRealSales>>;

const realModels = 'real-models';
const askEveryMs = 2_000;

/** Tells whether a gateway on this store ever sold real models. `isSellingReal`: this one does, which is kept. */
export const openRealSales = async (
  store: Pick<Store, 'findSecret' | 'getOrCreateSecret'>,
  isSellingReal: boolean,
  nowMs: () => number = () => performance.now(),
) => {
  if (isSellingReal) await store.getOrCreateSecret({ name: realModels, value: 'sold' });
  let hasBegun = isSellingReal;
  let askedAt = -Infinity;
  let asking = Promise.resolve();
  const ask = async (): Promise<void> => {
    try {
      hasBegun ||= (await store.findSecret(realModels)) !== null;
    } catch (error) {
      askedAt = -Infinity;
      throw error;
    }
  };
  const refresh = (): Promise<void> => {
    if (!hasBegun && nowMs() - askedAt >= askEveryMs) {
      askedAt = nowMs();
      asking = ask();
    }
    return asking;
  };
  await refresh();
  return {
    /** Returns the store's last answer. Never changes from true to false. */
    hasBegun: (): boolean => hasBegun,
    /** Asks the store again, at most every two seconds, because another gateway may have begun. Rejects if the store fails. */
    refresh,
  };
};
