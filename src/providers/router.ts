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
import type { TextCall, TextProvider, TextRequest } from './text/text-provider.ts';
import type { VideoProvider, VideoRequest } from './video/video-provider.ts';

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
    answer: async (
      request: Omit<TextRequest, 'model'>,
      { signal, emit, onRoute }: RoutedCall & TextCall,
    ): Promise<void> => {
      const served = await attempt(
        (route) =>
          begin({
            start: (onEvent) =>
              route.source.answer({ ...request, model: route.model }, { signal, emit: onEvent }),
            emit,
            onFirst: () => onRoute?.(toServedRoute(route)),
          }),
        signal,
      );
      try {
        await served.answer.ended;
      } catch (error) {
        settle(served, error, signal);
        throw error;
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
    restMs: () => restMsOf(routes),
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

type FetchOptions = Parameters<VideoProvider['fetch']>[2];

/** A begun task as plain JSON, by which any process of the gateway finds it again. */
export interface StartedVideo extends ServedRoute {
  task: string;
}

export type RoutedVideo = ReturnType<typeof createVideoRouter>;

/** The videos of a SKU, by any of its routes. Throws ProviderError or the signal's reason. */
export const createVideoRouter = (routes: readonly Route<VideoProvider>[], options: RouterOptions) => {
  const attempt = createRouteAttempts(routes, options);
  return {
    /** Returns the time until a route may be asked, as far as this process knows; 0 when one may be asked now. */
    restMs: () => restMsOf(routes),
    /** Begins a task on the first route that takes it. An `ambiguous` failure is never repeated on another. */
    start: async (
      request: Omit<VideoRequest, 'model'>,
      { signal }: { signal: AbortSignal },
    ): Promise<StartedVideo> => {
      const { route, answer } = await attempt(
        ({ source, model }) => source.start({ ...request, model }, { signal }),
        signal,
      );
      return { ...toServedRoute(route), task: answer };
    },
  };
};

/** A begun task at its provider. Throws ProviderError, or the signal's reason after it aborts. */
export type VideoTaskHandle = ReturnType<typeof resumeVideo>;

/**
 * Opens a begun task, whether or not its SKU is still on sale. It is asked without the breaker: the caller repeats questions
 * anyway. Throws ProviderError `upstream_unavailable` when its provider (`source`) is no longer configured.
 */
export const resumeVideo = (
  { provider, model, task }: Pick<StartedVideo, 'provider' | 'model' | 'task'>,
  source: VideoProvider | undefined,
) => {
  if (source === undefined)
    throw new ProviderError(`the provider ${provider} is no longer configured`, {
      failure: 'fatal',
      code: 'upstream_unavailable',
    });
  const name = (error: unknown): void => {
    if (error instanceof ProviderError) error.asked ??= { provider, model, attempts: 1 };
  };
  const rethrow = (error: unknown): never => {
    name(error);
    throw error;
  };
  return {
    report: async (signal: AbortSignal) => {
      const report = await source.report(task, { signal }).catch(rethrow);
      if (report.state === 'failed') name(report.error);
      return report;
    },
    /** May be called again, also by another process, as long as the upstream knows the task. */
    fetch: (part: 'video' | 'last_frame', call: FetchOptions) =>
      source.fetch(task, part, call).catch(rethrow),
  };
};

interface Beginning {
  /** Starts the answer and returns its end. */
  start: (emit: TextCall['emit']) => Promise<void>;
  emit: TextCall['emit'];
  onFirst: () => void;
}

/** Starts an answer and waits for its first event. An answer that fails later has begun all the same. */
const begin = ({ start, emit, onFirst }: Beginning): Promise<{ ended: Promise<void> }> =>
  new Promise((resolve, reject) => {
    let hasBegun = false;
    const ended = start((event) => {
      if (!hasBegun) {
        hasBegun = true;
        onFirst();
        // After this turn, because an answer may begin before `start` has returned.
        queueMicrotask(() => resolve({ ended }));
      }
      emit(event);
    });
    ended.then(
      () => {
        if (!hasBegun)
          reject(
            new ProviderError('the provider ended an answer without an event', { failure: 'ambiguous' }),
          );
      },
      (error: unknown) => {
        if (!hasBegun) reject(error);
      },
    );
  });

const toServedRoute = ({ provider, model, isSandbox, failedProviders }: ServedRoute): ServedRoute => ({
  provider,
  model,
  isSandbox,
  failedProviders,
});
