import type { ModelConfig } from '../config.ts';
import { formatRate, formatUsd } from '../money.ts';

/** The SKUs on sale. A SKU without a price cannot be in it, so nothing is ever free by omission. */
export interface Catalog {
  list(): readonly ModelConfig[];
  /** Null when there is no such SKU of that kind. */
  find(sku: string, kind: ModelConfig['kind']): ModelConfig | null;
}

export const createCatalog = (models: readonly ModelConfig[]): Catalog => {
  const bySku = new Map(models.map((model) => [model.sku, model]));
  return {
    list: () => models,
    find: (sku, kind) => {
      const model = bySku.get(sku);
      return model?.kind === kind ? model : null;
    },
  };
};

/** A SKU's price as `GET /v1/models` shows it. */
export const toPricing = (price: ModelConfig['price']): { [name: string]: string } => {
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
  }
};
