import type { VideoContent, VideoReport, VideoRequest } from './video-provider.ts';

/** A begun task, as plain JSON: by it any process of the gateway finds the task again. */
export interface StartedVideo {
  /** The provider's name in the configuration. */
  provider: string;
  /** The upstream's name of the model. */
  model: string;
  /** The provider's own text of the task. */
  task: string;
  isSandbox: boolean;
}

/** A begun task on its provider. Throws ProviderError, or the signal's reason after it aborts. */
export interface VideoTaskHandle {
  report(signal: AbortSignal): Promise<VideoReport>;
  /** May be called again, also by another process, until the upstream forgets the task. */
  fetch(
    part: 'video' | 'last_frame',
    options: { request: Pick<VideoRequest, 'outputFormat'>; signal: AbortSignal },
  ): Promise<VideoContent | null>;
}

/** A SKU's videos, whichever route makes them. Throws ProviderError or the signal's reason. */
export interface RoutedVideo {
  /** How long until a route may be asked, by what this process knows: 0 when one may now. */
  restMs(): Promise<number>;
  /** Begins a task on the first route that takes it. An `ambiguous` failure is never repeated on another. */
  start(request: Omit<VideoRequest, 'model'>, call: { signal: AbortSignal }): Promise<StartedVideo>;
  /** Throws ProviderError `upstream_unavailable` when the provider is not configured any more. */
  resume(started: Pick<StartedVideo, 'provider' | 'model' | 'task'>): VideoTaskHandle;
}
