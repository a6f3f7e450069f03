import { join } from 'node:path';
import type { Log } from '../kit/log.ts';
import { checkProvider } from './check-provider.ts';
import { definitionOf, isSandbox, isSandboxModel } from './index.ts';
import type {
  ModelKind,
  Moderator,
  Provider,
  ProviderConfig,
  ProviderContext,
  RouteConfig,
} from './provider.ts';
import { ProviderError } from './provider-error.ts';
import {
  createRetryBudget,
  createServedModels,
  type RetryBudget,
  type Route,
  type RouterOptions,
} from './route-attempts.ts';
import {
  createImageRouter,
  createTextRouter,
  createVideoRouter,
  resumeVideo,
  type StartedVideo,
} from './router.ts';
import { createTokenCounter } from './tokens/token-counter.ts';
import { createMovMaker } from './video/to-mov.ts';

export type Providers = Awaited<ReturnType<typeof createProviders>>;

export interface ProvidersConfig {
  providers: Record<string, ProviderConfig>;
  models: readonly { sku: string; kind: ModelKind; routes: readonly RouteConfig[] }[];
  moderation: RouteConfig | null;
  dataDir: string;
}

export interface CreateProvidersOptions
  extends RouterOptions, Pick<ProviderContext, 'outbound' | 'payFor' | 'sandboxPieceDelayMs'> {
  /** Null or absent: nothing is watched. */
  telemetry?: ProviderTelemetry | null;
}

interface ProviderTelemetry {
  observeProvider(name: string, provider: Provider): Provider;
  traceHeaders(): Record<string, string>;
}

export const createProviders = async (config: ProvidersConfig, options: CreateProvidersOptions) => {
  const counter = createTokenCounter({ log: options.log });
  const movMaker = createMovMaker({ directory: join(config.dataDir, 'video-work') });
  const open = async ([name, provider]: [string, ProviderConfig]) => {
    const { traceHeaders } = options.telemetry ?? {};
    const context = { ...options, traceHeaders, name, counter, movMaker };
    const created = await definitionOf(provider).create(provider, context);
    const opened = options.telemetry?.observeProvider(name, created) ?? created;
    return [name, { opened, isSandbox: isSandbox(provider), budget: createRetryBudget() }] as const;
  };
  const sources = new Map(await Promise.all(Object.entries(config.providers).map(open)));
  const served = createServedModels(options.clock);

  const createModerator = ({ provider, model }: RouteConfig): Moderator => {
    const create = sources.get(provider)?.opened.moderation;
    if (create === undefined) throw new Error(`the provider ${provider} cannot look at requests`);
    return create(model);
  };

  let routers = createRouters(config.models, { sources, served, options });
  logSandboxModels(config, options.log);

  return {
    /** The routes of a SKU. Throws ProviderError `upstream_unavailable` for one that is not on sale. */
    text: (sku: string) => routers.texts.get(sku) ?? notOnSale(sku),
    image: (sku: string) => routers.images.get(sku) ?? notOnSale(sku),
    video: (sku: string) => routers.videos.get(sku) ?? notOnSale(sku),
    /** What can run here now: images and videos that a route serves, as far as this process knows, and begun videos. */
    runnable: () => ({
      skus: [...routers.images, ...routers.videos]
        .filter(([, { restMs }]) => restMs() <= 0)
        .map(([sku]) => sku),
      providers: [...sources.keys()],
    }),
    /** Opens a begun video, as `resumeVideo`. */
    resume: (started: StartedVideo) => resumeVideo(started, sources.get(started.provider)?.opened.video),
    /** Serves other models by the providers that are open. Calls under way go on. Throws Error for another provider. */
    serve: (models: ProvidersConfig['models']): void => {
      routers = createRouters(models, { sources, served, options });
    },
    /** Looks at requests that ask for moderation; null: none is configured. */
    moderator: config.moderation === null ? null : createModerator(config.moderation),
    /** Tells of each provider how its last calls from this process went. */
    health: () =>
      Object.entries(config.providers).map(([name, { type }]) => ({
        name,
        type,
        isSandbox: isSandbox({ type }),
        retriesLeft: sources.get(name)?.budget.left() ?? 0,
        models: served.healthOf(name),
      })),
    /** Removes the files that a killed process left behind, and warns in the log of providers that do not answer. */
    warmUp: async (signal: AbortSignal): Promise<void> => {
      const { log } = options;
      const checks = Object.entries(config.providers).map(([name, provider]) =>
        checkProvider(name, provider, { log, signal }),
      );
      await Promise.all([movMaker.sweep(), ...checks]);
    },
    /** Ends connections and threads; answers under way fail. */
    close: async (): Promise<void> => {
      const closing = [...sources.values()].map(({ opened }) => opened.close());
      await Promise.all([counter.close(), movMaker.close(), ...closing]);
    },
  };
};

interface RouterParts {
  sources: ReadonlyMap<string, { opened: Provider; isSandbox: boolean; budget: RetryBudget }>;
  served: ReturnType<typeof createServedModels>;
  options: RouterOptions;
}

/** Makes the routers of all SKUs. Throws Error for a provider that is not open. */
const createRouters = (models: ProvidersConfig['models'], { sources, served, options }: RouterParts) => {
  const routesOf = <Kind extends ModelKind>(
    { sku, routes }: ProvidersConfig['models'][number],
    kind: Kind,
  ): Route<NonNullable<Provider[Kind]>>[] =>
    routes.map((route) => {
      const source = sources.get(route.provider);
      const service = source?.opened[kind];
      if (source === undefined || service === undefined)
        throw new Error(`there is no provider ${route.provider} for ${kind}`);
      const breaker = served.breakerOf(sku, kind, route);
      return { ...route, isSandbox: source.isSandbox, source: service, breaker, budget: source.budget };
    });
  const ofKind = <Router>(kind: ModelKind, create: (model: ProvidersConfig['models'][number]) => Router) =>
    new Map(models.filter((model) => model.kind === kind).map((model) => [model.sku, create(model)]));
  served.forgetSkus();
  return {
    texts: ofKind('chat', (model) => createTextRouter(routesOf(model, 'chat'), options)),
    images: ofKind('image', (model) => createImageRouter(routesOf(model, 'image'), options)),
    videos: ofKind('video', (model) => createVideoRouter(routesOf(model, 'video'), options)),
  };
};

const notOnSale = (sku: string): never => {
  throw new ProviderError(`no route serves ${sku}`, { failure: 'retry_other', code: 'upstream_unavailable' });
};

const logSandboxModels = ({ providers, models }: ProvidersConfig, log: Log): void => {
  const skus = models.filter((model) => isSandboxModel(model, providers)).map((model) => model.sku);
  if (skus.length > 0)
    log.info({ skus }, 'the sandbox serves these models: no real model is behind their answers');
};
