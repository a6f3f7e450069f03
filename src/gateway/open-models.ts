import { createCatalogs, openRealSales } from '../accounts/catalog/catalog.ts';
import { createModelShelf, type ModelShelf } from '../accounts/catalog/model-changes.ts';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import type { Config } from '../config/config.ts';
import { applySettings, type Reloaded } from '../config/reload.ts';
import type { Clock } from '../kit/clock.ts';
import type { Log } from '../kit/log.ts';
import type { Providers } from '../providers/create-providers.ts';
import { isSandboxModel } from '../providers/index.ts';
import type { Store } from '../store/store.ts';

/** Opens the catalog of each account, and tells whether real models are sold. */
export const openModels = async ({ models, providers }: Config, parts: { store: Store; clock: Clock }) => {
  const isServedBySandbox = (model: ModelConfig): boolean => isSandboxModel(model, providers);
  const realSales = await openRealSales(parts.store, !models.every(isServedBySandbox));
  const catalogs = createCatalogs(models, { isSandboxModel: isServedBySandbox, realSales });
  const shelf = createModelShelf(models, { ...parts, catalogs });
  await shelf.follow();
  return { realSales, catalogs, shelf };
};

interface ReloadParts {
  loadConfig: () => Promise<Config>;
  providers: Pick<Providers, 'serve'>;
  shelf: ModelShelf;
  log: Log;
}

/** Returns a function that reads the settings again, and applies what can be. */
export const createReload =
  (config: Config, { loadConfig, providers, shelf, log }: ReloadParts) =>
  async (): Promise<Reloaded> => {
    const next = await loadConfig();
    const reloaded = applySettings(config, next, (models) => {
      providers.serve(models);
      shelf.restock(models);
    });
    log.info({ ...reloaded }, 'the settings were read again');
    return reloaded;
  };
