import { LRUCache } from 'lru-cache';
import type { ModelConfig } from './model.ts';
import type { JsonObject } from '../kit/json.ts';
import { formatRate, formatUsd } from '../kit/money.ts';
import { assertPricedBy, parseAccountTerms, type AccountTerms } from './account-terms.ts';
import type { RealSales } from './open-real-sales.ts';

/** The SKUs on sale to one account. A SKU without a price cannot be in it, so nothing is ever free by omission. */
export interface Catalog {
  /** With the account's own prices, in the order of the configuration. */
  list(): readonly ModelConfig[];
  /** Null when there is no such SKU of that kind; one that is not enabled is not there. */
  find(sku: string, kind: ModelConfig['kind']): ModelConfig | null;
  /** The limits that the account's own terms have. */
  ownLimits: Pick<AccountTerms, 'activeVideos' | 'requestsPerMinute'>;
}

/** Whose terms hold. */
export interface Buyer {
  accountId: string;
  /** `Account.terms`; null: the operator's defaults. */
  terms: string | null;
  /** `Account.isSandbox` */
  isSandbox: boolean;
}

export interface CatalogsOptions {
  /** Whether the sandbox serves a SKU. */
  isSandboxModel(model: ModelConfig): boolean;
  realSales: RealSales;
}

/** What each account is offered, by its own terms. */
export interface Catalogs {
  /** Throws on terms that cannot be read: such an account is sold nothing rather than something at a wrong price. */
  for(buyer: Buyer): Catalog;
  /** To be awaited before `for`, which holds to what the store said last. Rejects when the store does not answer. */
  refresh(): Promise<void>;
}

/** How many different terms are kept read. */
const mostCatalogs = 1_000;

/**
 * Sandbox credit buys what the sandbox makes, and real money what real models make. While nothing real was ever on sale,
 * every account may use the sandbox.
 */
export const createCatalogs = (
  models: readonly ModelConfig[],
  { isSandboxModel, realSales }: CatalogsOptions,
): Catalogs => {
  const sandbox = catalogsOf(models.filter(isSandboxModel));
  const real = catalogsOf(models.filter((model) => !isSandboxModel(model)));
  return {
    for: (buyer) => (buyer.isSandbox || !realSales.hasBegun() ? sandbox : real).for(buyer),
    refresh: realSales.refresh,
  };
};

const catalogsOf = (models: readonly ModelConfig[]): { for(buyer: Omit<Buyer, 'isSandbox'>): Catalog } => {
  const standard = createCatalog(models, { activeVideos: null, requestsPerMinute: null });
  const byTerms = new LRUCache<string, Catalog>({
    max: mostCatalogs,
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

/** The enabled ones of `models` at the prices of `terms`. SKUs that have gone from the configuration are on sale to nobody. */
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

/** A SKU's price as `GET /v1/models` shows it. */
export const toPricing = (price: ModelConfig['price']): JsonObject => {
  switch (price.unit) {
    case 'call':
      return { unit: 'call', currency: 'USD', price_usd: formatUsd(price.price) };
    case 'token':
      return {
        unit: 'token',
        currency: 'USD',
        input_usd_per_1m: formatRate(price.input),
        output_usd_per_1m: formatRate(price.output),
      };
    case 'second':
      return {
        unit: 'second',
        currency: 'USD',
        rates: price.rates.map((rate) => ({
          resolution: rate.resolution,
          price_usd: formatUsd(rate.price),
          with_video_price_usd: rate.withVideoPrice === null ? null : formatUsd(rate.withVideoPrice),
        })),
      };
  }
};
