import { join } from 'node:path';
import {
  isSandboxModel,
  type Config,
  type ModelConfig,
  type ProviderConfig,
  type RouteConfig,
} from '../config/config.ts';
import type { CircuitBreaker } from '../kit/circuit-breaker.ts';
import type { Log } from '../kit/log.ts';
import type { Outbound } from '../http/outbound.ts';
import { checkProvider, type RemoteConfig } from './check-provider.ts';
import type { ImageProvider } from './image/image-provider.ts';
import { createModelarkVideo } from './modelark/modelark-video.ts';
import type { Moderator } from './moderation/moderator.ts';
import { createOpenAiClient } from './openai/openai-client.ts';
import { createOpenAiImage } from './openai/openai-image.ts';
import { createOpenAiModerator } from './openai/openai-moderator.ts';
import { createOpenAiText } from './openai/openai-text.ts';
import { ProviderError } from './provider-error.ts';
import { createRetryBudget } from './retry-budget.ts';
import { createRouteBreaker, type Route, type RouterOptions } from './route-attempts.ts';
import {
  createImageRouter,
  createTextRouter,
  createVideoRouter,
  type RoutedImage,
  type RoutedText,
} from './router.ts';
import { createExampleMaker } from './sandbox/examples/example-maker.ts';
import { createSandboxImage } from './sandbox/sandbox-image.ts';
import { createSandboxText } from './sandbox/sandbox-text.ts';
import { createSandboxVideo } from './sandbox/sandbox-video.ts';
import type { TextProvider } from './text/text-provider.ts';
import { createTokenCounter, type TokenCounter } from './tokens/token-counter.ts';
import type { RoutedVideo } from './video/routed-video.ts';
import { createMovMaker, type MovMaker } from './video/to-mov.ts';
import type { VideoProvider } from './video/video-provider.ts';
import { createVideoUpstream } from './video/video-upstream.ts';
import { createResellerVideo } from './videos/reseller-video.ts';

export interface Providers {
  /** The routes of a chat SKU. Throws ProviderError `upstream_unavailable` when it is not on sale any more. */
  text(sku: string): RoutedText;
  /** The routes of an image SKU. Throws like `text`. */
  image(sku: string): RoutedImage;
  /** The routes of a video SKU. Throws like `text`. */
  video(sku: string): RoutedVideo;
  /** Looks at a request that asks for it; null: nobody is set to. */
  moderator: Moderator | null;
  /**
   * Loads what would make the first chat half a second slower, removes what a killed process left behind, and tells the
   * log of providers that do not answer.
   */
  warmUp(signal: AbortSignal): Promise<void>;
  /** Ends connections and threads; answers under way fail. */
  close(): Promise<void>;
}

export interface CreateProvidersOptions extends RouterOptions {
  /** By which results are fetched from addresses that upstreams name. */
  outbound: Pick<Outbound, 'download'>;
  /** The pause between two events of the sandbox's streams. */
  sandboxPieceDelayMs?: number;
}

/** What one configured provider offers. */
interface Source {
  isSandbox: boolean;
  text: TextProvider | null;
  image: ImageProvider | null;
  video: VideoProvider | null;
  /** Null: it cannot look at requests. */
  moderatorOf: ((model: string) => Moderator) | null;
  /** Removes what a killed process left behind. */
  sweep(): Promise<void>;
  close(): Promise<unknown>;
}

type ProvidersConfig = Pick<Config, 'providers' | 'models' | 'moderation' | 'dataDir'>;

/** All configured providers with routers over them. Connections, threads and heavy modules come with the first use. */
export const createProviders = (config: ProvidersConfig, options: CreateProvidersOptions): Providers => {
  const counter = createTokenCounter({ log: options.log });
  const movMaker = createMovMaker({ directory: join(config.dataDir, 'video-work') });
  const createSource = (name: string, provider: ProviderConfig): Source => {
    switch (provider.type) {
      case 'sandbox':
        return createSandboxSource(name, { ...options, config, counter });
      case 'openai':
        return createOpenAiSource(provider, { ...options, counter });
      case 'modelark':
      case 'videos':
        return createVideoSource(provider, { ...options, movMaker });
    }
  };
  const sources = new Map(
    Object.entries(config.providers).map(([name, provider]) => [
      name,
      { ...createSource(name, provider), budget: createRetryBudget() },
    ]),
  );
  const breakers = new Map<string, CircuitBreaker>();

  const breakerOf = (name: string): CircuitBreaker => {
    const breaker = breakers.get(name) ?? createRouteBreaker(options.clock);
    breakers.set(name, breaker);
    return breaker;
  };

  const routesOf = <Kind extends 'text' | 'image' | 'video'>(
    kind: Kind,
    model: ModelConfig,
  ): Route<NonNullable<Source[Kind]>>[] =>
    model.routes.map((route) => {
      const source = sources.get(route.provider);
      const offer = source?.[kind];
      if (source === undefined || offer === undefined || offer === null)
        throw new Error(`there is no provider ${route.provider} for ${kind}`);
      return {
        ...route,
        isSandbox: source.isSandbox,
        source: offer,
        // SKUs that share an upstream model share its breaker.
        breaker: breakerOf(JSON.stringify([kind, route.provider, route.model])),
        budget: source.budget,
      };
    });

  const moderatorOf = (route: RouteConfig | null): Moderator | null => {
    if (route === null) return null;
    const create = sources.get(route.provider)?.moderatorOf ?? null;
    if (create === null) throw new Error(`the provider ${route.provider} cannot look at requests`);
    return create(route.model);
  };

  const routers = <Router>(kind: ModelConfig['kind'], create: (model: ModelConfig) => Router) =>
    new Map(config.models.filter((model) => model.kind === kind).map((model) => [model.sku, create(model)]));
  const texts = routers('chat', (model) => createTextRouter(routesOf('text', model), options));
  const images = routers('image', (model) => createImageRouter(routesOf('image', model), options));
  const find = (provider: string): VideoProvider | null => sources.get(provider)?.video ?? null;
  const videos = routers('video', (model) =>
    createVideoRouter(routesOf('video', model), { ...options, find }),
  );
  tellOfSandbox(config, options.log);

  return {
    text: (sku) => texts.get(sku) ?? notOnSale(sku),
    image: (sku) => images.get(sku) ?? notOnSale(sku),
    video: (sku) => videos.get(sku) ?? notOnSale(sku),
    moderator: moderatorOf(config.moderation),
    warmUp: async (signal) => {
      await Promise.all([
        ...(texts.size > 0 ? [counter.count([''], signal)] : []),
        ...[...sources.values()].map((source) => source.sweep()),
        movMaker.sweep(),
        ...Object.entries(config.providers).map(async ([name, provider]) => {
          if (provider.type !== 'sandbox') await checkProvider(name, provider, { log: options.log, signal });
        }),
      ]);
    },
    close: async () => {
      const closing = [...sources.values()].map((source) => source.close());
      await Promise.all([counter.close(), movMaker.close(), ...closing]);
    },
  };
};

const nothingToSweep = (): Promise<void> => Promise.resolve();

const createSandboxSource = (
  name: string,
  options: CreateProvidersOptions & { config: ProvidersConfig; counter: TokenCounter },
): Source => {
  const { clock, config, counter, log, sandboxPieceDelayMs: pieceDelayMs } = options;
  const examples = createExampleMaker();
  const image = createSandboxImage();
  const video = createSandboxVideo({
    directory: join(config.dataDir, 'sandbox-videos', name),
    clock,
    log,
  });
  return {
    isSandbox: true,
    text: createSandboxText({ counter, examples, ...(pieceDelayMs === undefined ? {} : { pieceDelayMs }) }),
    image,
    video,
    moderatorOf: null,
    sweep: video.sweep,
    close: () => Promise.all([examples.close(), image.close(), video.close()]),
  };
};

const createOpenAiSource = (
  provider: RemoteConfig,
  { outbound, counter }: CreateProvidersOptions & { counter: TokenCounter },
): Source => {
  const client = createOpenAiClient(provider);
  return {
    isSandbox: false,
    text: createOpenAiText({ client, counter }),
    image: createOpenAiImage({ client, outbound, timeouts: provider.timeouts }),
    video: null,
    moderatorOf: (model) => createOpenAiModerator({ client, model }),
    sweep: nothingToSweep,
    close: () => client.close(),
  };
};

const createVideoSource = (
  provider: RemoteConfig,
  { outbound, log, movMaker }: CreateProvidersOptions & { movMaker: MovMaker },
): Source => {
  const upstream = createVideoUpstream(provider);
  const create = provider.type === 'modelark' ? createModelarkVideo : createResellerVideo;
  return {
    isSandbox: false,
    text: null,
    image: null,
    video: create({ ...provider, upstream, outbound, log, movMaker }),
    moderatorOf: null,
    sweep: nothingToSweep,
    close: () => upstream.close(),
  };
};

const notOnSale = (sku: string): never => {
  throw new ProviderError(`no route serves ${sku}`, { failure: 'retry_other', code: 'upstream_unavailable' });
};

const tellOfSandbox = ({ providers, models }: Pick<Config, 'providers' | 'models'>, log: Log): void => {
  const skus = models.filter((model) => isSandboxModel(model, providers)).map((model) => model.sku);
  if (skus.length > 0)
    log.info({ skus }, 'the sandbox serves these models: no real model is behind their answers');
};
