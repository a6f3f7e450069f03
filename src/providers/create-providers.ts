import { join } from 'node:path';
import type { CircuitBreaker } from '../kit/circuit-breaker.ts';
import type { Log } from '../kit/log.ts';
import { checkProvider } from './check-provider.ts';
import { definitionOf, isSandbox, isSandboxModel } from './index.ts';
import type { Moderator } from './moderation/moderator.ts';
import { ProviderError } from './provider-error.ts';
import type { ModelKind, Provider, ProviderConfig, ProviderContext, RouteConfig } from './provider.ts';
import { createRetryBudget } from './retry-budget.ts';
import { createRouteBreaker, type Route, type RouterOptions } from './route-attempts.ts';
import {
  createImageRouter,
  createTextRouter,
  createVideoRouter,
  type RoutedImage,
  type RoutedText,
} from './router.ts';
import { createTokenCounter } from './tokens/token-counter.ts';
import type { RoutedVideo } from './video/routed-video.ts';
import { createMovMaker } from './video/to-mov.ts';

export interface Providers {
  /** The routes of a chat SKU. Throws ProviderError `upstream_unavailable` for a SKU that is not on sale. */
  text(sku: string): RoutedText;
  /** The routes of an image SKU. Throws like `text`. */
  image(sku: string): RoutedImage;
  /** The routes of a video SKU. Throws like `text`. */
  video(sku: string): RoutedVideo;
  /** Looks at requests that ask for moderation; null: none is configured. */
  moderator: Moderator | null;
  /** Removes the files that a killed process left behind, and warns in the log of providers that do not answer. */
  warmUp(signal: AbortSignal): Promise<void>;
  /** Ends connections and threads; answers under way fail. */
  close(): Promise<void>;
}

export interface ProvidersConfig {
  providers: Record<string, ProviderConfig>;
  models: readonly { sku: string; kind: ModelKind; routes: readonly RouteConfig[] }[];
  moderation: RouteConfig | null;
  dataDir: string;
}

export interface CreateProvidersOptions
  extends RouterOptions, Pick<ProviderContext, 'outbound' | 'sandboxPieceDelayMs'> {}

/** Opens all configured providers and makes the routers over them. */
export const createProviders = async (
  config: ProvidersConfig,
  options: CreateProvidersOptions,
): Promise<Providers> => {
  const counter = createTokenCounter({ log: options.log });
  const movMaker = createMovMaker({ directory: join(config.dataDir, 'video-work') });
  const open = async ([name, provider]: [string, ProviderConfig]) => {
    const context = { ...options, name, dataDir: config.dataDir, counter, movMaker };
    const opened = await definitionOf(provider).create(provider, context);
    return [name, { opened, isSandbox: isSandbox(provider), budget: createRetryBudget() }] as const;
  };
  const sources = new Map(await Promise.all(Object.entries(config.providers).map(open)));
  const breakers = new Map<string, CircuitBreaker>();

  const breakerOf = (name: string): CircuitBreaker => {
    const breaker = breakers.get(name) ?? createRouteBreaker(options.clock);
    breakers.set(name, breaker);
    return breaker;
  };

  /** Creates a router for each SKU of a kind. */
  const createRouters = <Kind extends ModelKind, Router>(
    kind: Kind,
    createRouter: (routes: Route<NonNullable<Provider[Kind]>>[], options: RouterOptions) => Router,
  ): Map<string, Router> => {
    const toRoute = (route: RouteConfig) => {
      const source = sources.get(route.provider);
      const service = source?.opened[kind];
      if (source === undefined || service === undefined)
        throw new Error(`there is no provider ${route.provider} for ${kind}`);
      return {
        ...route,
        isSandbox: source.isSandbox,
        source: service,
        // SKUs that share an upstream model share its breaker.
        breaker: breakerOf(JSON.stringify([kind, route.provider, route.model])),
        budget: source.budget,
      };
    };
    const models = config.models.filter((model) => model.kind === kind);
    return new Map(models.map(({ sku, routes }) => [sku, createRouter(routes.map(toRoute), options)]));
  };

  const createModerator = ({ provider, model }: RouteConfig): Moderator => {
    const create = sources.get(provider)?.opened.moderation;
    if (create === undefined) throw new Error(`the provider ${provider} cannot look at requests`);
    return create(model);
  };

  const texts = createRouters('chat', createTextRouter);
  const images = createRouters('image', createImageRouter);
  const find = (provider: string) => sources.get(provider)?.opened.video ?? null;
  const videos = createRouters('video', (routes) => createVideoRouter(routes, { ...options, find }));
  logSandboxModels(config, options.log);

  return {
    text: (sku) => texts.get(sku) ?? notOnSale(sku),
    image: (sku) => images.get(sku) ?? notOnSale(sku),
    video: (sku) => videos.get(sku) ?? notOnSale(sku),
    moderator: config.moderation === null ? null : createModerator(config.moderation),
    warmUp: async (signal) => {
      await Promise.all([
        movMaker.sweep(),
        ...Object.entries(config.providers).map(([name, provider]) =>
          checkProvider(name, provider, { log: options.log, signal }),
        ),
      ]);
    },
    close: async () => {
      const closing = [...sources.values()].map(({ opened }) => opened.close());
      await Promise.all([counter.close(), movMaker.close(), ...closing]);
    },
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
