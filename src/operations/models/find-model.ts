import type { Catalog } from '../../accounts/catalog/catalog.ts';
import { defaultModel } from '../../accounts/catalog/default-models.ts';
import type { ModelConfig } from '../../accounts/catalog/model.ts';
import { wrongField } from '../../kit/errors.ts';

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
