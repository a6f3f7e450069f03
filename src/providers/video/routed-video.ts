import type { VideoContent, VideoReport, VideoRequest } from './video-provider.ts';

/** A begun task as plain JSON, by which any process of the gateway finds it again. */
export interface StartedVideo {
  /** The provider's name in the configuration. */
  provider: string;
  /** The upstream's name of the model. */
  model: string;
  /** The provider's name of the task. */
  task: string;
  isSandbox: boolean;
}

/** A begun task at its provider. Throws ProviderError, or the signal's reason after it aborts. */
export interface VideoTaskHandle {
  report(signal: AbortSignal): Promise<VideoReport>;
  /** May be called again, also by another process, as long as the upstream knows the task. */
  fetch(
    part: 'video' | 'last_frame',
    options: { request: Pick<VideoRequest, 'outputFormat'>; signal: AbortSignal },
  ): Promise<VideoContent | null>;
}

/** The videos of a SKU, by any of its routes. Throws ProviderError or the signal's reason. */
export interface RoutedVideo {
  /** Returns the time until a route may be asked, as far as this process knows; 0 when one may be asked now. */
  restMs(): Promise<number>;
  /** Begins a task on the first route that takes it. An `ambiguous` failure is never repeated on another. */
  start(request: Omit<VideoRequest, 'model'>, call: { signal: AbortSignal }): Promise<StartedVideo>;
  /** Throws ProviderError `upstream_unavailable` when the provider is no longer configured. */
  resume(started: Pick<StartedVideo, 'provider' | 'model' | 'task'>): VideoTaskHandle;
}
