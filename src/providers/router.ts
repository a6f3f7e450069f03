import type { ImageProvider, ImageRequest } from './image/image-provider.ts';
import { ProviderError } from './provider-error.ts';
import {
  createRouteAttempts,
  restMsOf,
  settle,
  type Route,
  type RouterOptions,
  type ServedRoute,
} from './route-attempts.ts';
import type { TextEvent, TextProvider, TextRequest } from './text/text-provider.ts';
import type { RoutedVideo } from './video/routed-video.ts';
import type { VideoProvider } from './video/video-provider.ts';

interface RoutedCall {
  signal: AbortSignal;
  /** Called once, with the route that serves, before the first event or with the result. */
  onRoute?: (route: ServedRoute) => void;
}

/**
 * The text of a SKU, by any of its routes. Tries the next route only until the first event; a later failure ends the
 * answer. Throws ProviderError or the signal's reason.
 */
export const createTextRouter = (routes: readonly Route<TextProvider>[], options: RouterOptions) => {
  const attempt = createRouteAttempts(routes, options);
  return {
    stream: async function* (
      request: Omit<TextRequest, 'model'>,
      { signal, onRoute }: RoutedCall,
    ): AsyncIterable<TextEvent> {
      const { route, pass, answer } = await attempt(
        ({ source, model }) => begin(source.stream({ ...request, model }, { signal })),
        signal,
      );
      try {
        onRoute?.(toServedRoute(route));
        yield answer.first;
        yield* answer.rest;
      } catch (error) {
        settle(pass, error, signal);
        throw error;
      } finally {
        // When the reader stops early, the upstream is stopped too.
        await answer.stop();
      }
    },
  };
};

export type RoutedText = ReturnType<typeof createTextRouter>;

/** The images of a SKU, by any of its routes. Throws ProviderError or the signal's reason. */
export const createImageRouter = (routes: readonly Route<ImageProvider>[], options: RouterOptions) => {
  const attempt = createRouteAttempts(routes, options);
  return {
    /** Returns the time until a route may be asked, as far as this process knows; 0 when one may be asked now. */
    restMs: () => Promise.resolve(restMsOf(routes)),
    generate: async (request: Omit<ImageRequest, 'model'>, { signal, onRoute }: RoutedCall) => {
      const { route, answer } = await attempt(
        ({ source, model }) => source.generate({ ...request, model }, { signal }),
        signal,
      );
      onRoute?.(toServedRoute(route));
      return answer;
    },
  };
};

export type RoutedImage = ReturnType<typeof createImageRouter>;

/** Questions about a task go to the provider that began it, without the breaker: the caller repeats them anyway. */
export const createVideoRouter = (
  routes: readonly Route<VideoProvider>[],
  { find, ...options }: RouterOptions & { find: (provider: string) => VideoProvider | null },
): RoutedVideo => {
  const attempt = createRouteAttempts(routes, options);
  return {
    restMs: async () => {
      const rests = routes.map(async ({ breaker, source }) =>
        Math.max(breaker.restMs(), (await source.restMs?.()) ?? 0),
      );
      return Math.min(...(await Promise.all(rests)));
    },
    start: async (request, { signal }) => {
      const { route, answer } = await attempt(
        ({ source, model }) => source.start({ ...request, model }, { signal }),
        signal,
      );
      return { ...toServedRoute(route), task: answer };
    },
    resume: ({ provider, task }) => {
      const source = find(provider);
      if (source === null)
        throw new ProviderError(`the provider ${provider} is no longer configured`, {
          failure: 'fatal',
          code: 'upstream_unavailable',
        });
      return {
        report: (signal) => source.report(task, { signal }),
        fetch: (part, call) => source.fetch(task, part, call),
      };
    },
  };
};

/** Starts an answer and waits for its first event. */
const begin = async (events: AsyncIterable<TextEvent>) => {
  const iterator = events[Symbol.asyncIterator]();
  const result = await iterator.next();
  if (result.done === true)
    throw new ProviderError('the provider ended an answer without an event', { failure: 'ambiguous' });
  return {
    first: result.value,
    rest: { [Symbol.asyncIterator]: () => iterator },
    stop: async () => iterator.return?.(),
  };
};

const toServedRoute = ({ provider, model, isSandbox }: ServedRoute): ServedRoute => ({
  provider,
  model,
  isSandbox,
});
