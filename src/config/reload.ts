import { isDeepStrictEqual } from 'node:util';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import { isJsonObject, type Json } from '../kit/json.ts';
import { isSandboxModel } from '../providers/index.ts';
import type { Config } from './config.ts';
import { allVariables } from './variables.ts';

/** The names of settings that have changed: variables, and sections of causeway.yaml. */
export interface Reloaded {
  applied: string[];
  /** Those that hold after a restart. */
  restart: string[];
}

const sectionsOf = (file: Json) => (isJsonObject(file) ? file : {});

const changedNames = (before: object, after: object): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isDeepStrictEqual(Reflect.get(before, name), Reflect.get(after, name)))
    .sort();

/**
 * Whether a running gateway can sell the models of other settings: their providers are open, and what is made up stays so.
 * Tools and routes are made once for the kinds of models at the start.
 */
const canSell = (before: Config, after: Config): boolean => {
  const isMadeUp = (model: ModelConfig): boolean => isSandboxModel(model, before.providers);
  const kindsOf = ({ models }: Config) => new Set(models.map(({ kind }) => kind));
  return (
    after.models.every(
      ({ sku, routes }) =>
        routes.every(({ provider }) =>
          isDeepStrictEqual(before.providers[provider], after.providers[provider]),
        ) &&
        before.models.every(
          (model) => model.sku !== sku || isMadeUp(model) === isMadeUp({ ...model, routes }),
        ),
    ) &&
    before.models.every(isMadeUp) === after.models.every(isMadeUp) &&
    kindsOf(after).isSubsetOf(kindsOf(before))
  );
};

/** Takes over into `config` what a running gateway can change. `sell`: puts models on sale. */
export const applySettings = (
  config: Config,
  next: Config,
  sell: (models: Config['models']) => void,
): Reloaded => {
  const { texts } = config;
  const [file, nextFile] = [sectionsOf(texts.file), sectionsOf(next.texts.file)];
  const variables = changedNames(texts.environment, next.texts.environment).filter(
    (name) => name in allVariables,
  );
  const sections = changedNames(file, nextFile);
  const hasModels = !sections.includes('models') || canSell(config, next);
  const live: Record<string, () => unknown> = {
    REQUESTS_PER_MINUTE: () => (config.requestsPerMinute = next.requestsPerMinute),
    ACTIVE_VIDEOS: () => (config.activeVideos = next.activeVideos),
    // Terms were checked with the models of the same settings.
    ...(hasModels && {
      models: () => {
        config.models = next.models;
        sell(next.models);
      },
      wallet_terms: () => (config.wallets = { ...config.wallets, terms: next.wallets.terms }),
    }),
  };
  const [applied, restart] = [true, false].map((isLive) =>
    [...variables, ...sections].filter((name) => Object.hasOwn(live, name) === isLive),
  ) as [string[], string[]];
  for (const name of applied) {
    live[name]?.();
    if (name in allVariables)
      texts.environment = { ...texts.environment, [name]: next.texts.environment[name] };
    else {
      const { [name]: _former, ...rest } = sectionsOf(texts.file);
      const section = nextFile[name];
      texts.file = section === undefined ? rest : { ...rest, [name]: section };
    }
  }
  return { applied, restart };
};
