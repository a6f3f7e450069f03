import { isSandboxModel, type Config, type ModelConfig, type ProviderConfig } from '../config.ts';
import type { Log } from '../log.ts';
import { createBreaker, type Breaker } from './breaker.ts';
import type { ImageProvider } from './image/image-provider.ts';
import { createOpenAiClient } from './openai/openai-client.ts';
import { createOpenAiImage } from './openai/openai-image.ts';
import { createOpenAiText } from './openai/openai-text.ts';
import { ProviderError } from './provider-error.ts';
import { createRetryBudget } from './retry-budget.ts';
import type { Route, RouterOptions } from './route-attempts.ts';
import { createImageRouter, createTextRouter, type RoutedImage, type RoutedText } from './router.ts';
import { createExampleMaker } from './sandbox/examples/example-maker.ts';
import { createSandboxImage } from './sandbox/sandbox-image.ts';
import { createSandboxText } from './sandbox/sandbox-text.ts';
import type { TextProvider } from './text/text-provider.ts';
import { createTokenCounter, type TokenCounter } from './tokens/token-counter.ts';

export interface Providers {
  /** The routes of a chat SKU. Throws ProviderError `upstream_unavailable` when it is not on sale any more. */
  text(sku: string): RoutedText;
  /** The routes of an image SKU. Throws like `text`. */
  image(sku: string): RoutedImage;
  /** Loads what would make the first chat half a second slower. */
  warmUp(signal: AbortSignal): Promise<void>;
  /** Ends connections and threads; answers under way fail. */
  close(): Promise<void>;
}

export interface CreateProvidersOptions extends RouterOptions {
  /** The pause between two events of the sandbox's streams. */
  sandboxPieceDelayMs?: number;
}

interface Source {
  isSandbox: boolean;
  text: TextProvider;
  image: ImageProvider;
  close(): Promise<unknown>;
}

/** All configured providers with routers over them. Connections, threads and heavy modules come with the first use. */
export const createProviders = (
  config: Pick<Config, 'providers' | 'models'>,
  options: CreateProvidersOptions,
): Providers => {
  const counter = createTokenCounter({ log: options.log });
  const sources = new Map(
    Object.entries(config.providers).map(([name, provider]) => {
      const source =
        provider.type === 'sandbox'
          ? createSandboxSource(counter, options.sandboxPieceDelayMs)
          : createOpenAiSource(provider, counter);
      return [name, { ...source, budget: createRetryBudget() }];
    }),
  );
  const breakers = new Map<string, Breaker>();

  const breakerOf = (name: string): Breaker => {
    const breaker = breakers.get(name) ?? createBreaker(options.clock);
    breakers.set(name, breaker);
    return breaker;
  };

  const routesOf = <Kind extends 'text' | 'image'>(kind: Kind, model: ModelConfig): Route<Source[Kind]>[] =>
    model.routes.map((route) => {
      const source = sources.get(route.provider);
      if (source === undefined) throw new Error(`there is no provider ${route.provider}`);
      return {
        ...route,
        isSandbox: source.isSandbox,
        source: source[kind],
        // SKUs that share an upstream model share its breaker.
        breaker: breakerOf(JSON.stringify([kind, route.provider, route.model])),
        budget: source.budget,
      };
    });

  const routers = <Router>(kind: ModelConfig['kind'], create: (model: ModelConfig) => Router) =>
    new Map(config.models.filter((model) => model.kind === kind).map((model) => [model.sku, create(model)]));
  const texts = routers('chat', (model) => createTextRouter(routesOf('text', model), options));
  const images = routers('image', (model) => createImageRouter(routesOf('image', model), options));
  tellOfSandbox(config, options.log);

  return {
    text: (sku) => texts.get(sku) ?? notOnSale(sku),
    image: (sku) => images.get(sku) ?? notOnSale(sku),
    warmUp: async (signal) => {
      if (texts.size > 0) await counter.count([''], signal);
    },
    close: async () => {
      await Promise.all([counter.close(), ...[...sources.values()].map((source) => source.close())]);
    },
  };
};

const createSandboxSource = (counter: TokenCounter, pieceDelayMs: number | undefined): Source => {
  const examples = createExampleMaker();
  const image = createSandboxImage();
  return {
    isSandbox: true,
    text: createSandboxText({ counter, examples, ...(pieceDelayMs === undefined ? {} : { pieceDelayMs }) }),
    image,
    close: () => Promise.all([examples.close(), image.close()]),
  };
};

const createOpenAiSource = (provider: ProviderConfig & { type: 'openai' }, counter: TokenCounter): Source => {
  const client = createOpenAiClient(provider);
  return {
    isSandbox: false,
    text: createOpenAiText({ client, counter }),
    image: createOpenAiImage({ client }),
    close: () => client.close(),
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
