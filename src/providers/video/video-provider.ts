export const videoResolutions = ['480p', '720p', '1080p', '4k'] as const;
export type VideoResolution = (typeof videoResolutions)[number];

/** The contract's video ratios; `adaptive` follows the input. */
export const videoRatios = ['adaptive', '16:9', '9:16', '4:3', '3:4', '1:1', '21:9'] as const;
export type VideoRatio = (typeof videoRatios)[number];

export type VideoInputRole =
  | 'first_frame'
  | 'last_frame'
  | 'reference_image'
  | 'reference_video'
  | 'reference_audio';

/** An image, video or sound that a video is made from: a checked copy of our own. */
export interface VideoInput {
  role: VideoInputRole;
  /** By the bytes' own magic number: `image/png`, `image/jpeg`, `image/webp`, `video/mp4`, `video/quicktime`, `audio/mpeg`, `audio/wav`. */
  contentType: string;
  /** A public address for upstreams, valid until the job ends. */
  url: string;
  /** Loads all its bytes. Their number was limited when the input was accepted. */
  load(signal: AbortSignal): Promise<Uint8Array>;
}

export interface VideoRequest {
  /** The route's upstream model. */
  model: string;
  prompt: string;
  /** In the caller's order. */
  inputs: readonly VideoInput[];
  seed: number | null;
  /** Length of the output in whole seconds; -1: edit the reference video and keep its length. */
  durationSeconds: number;
  resolution: VideoResolution;
  ratio: VideoRatio;
  generateAudio: boolean;
  nsfwCheck: boolean;
  returnLastFrame: boolean;
  outputFormat: 'mp4' | 'mov';
}

/** An upstream's report of a task. A failure has the class and code with which the job fails. */
export type VideoReport =
  /** `progress`: 0 to 100; null where the upstream does not tell. */
  { state: 'pending'; progress: number | null } | { state: 'done' } | { state: 'failed'; error: Error };

export interface VideoContent {
  /** `video/mp4`, `video/quicktime`, `image/png`, `image/jpeg` or `image/webp`, by the bytes' own magic number. */
  contentType: string;
  /** Comes at the reader's pace. Throws ProviderError when it breaks off or grows too large. */
  body: AsyncIterable<Uint8Array>;
}

/** A source of videos. Throws ProviderError, or the signal's reason after it aborts. */
export interface VideoProvider {
  /**
   * Begins a task and returns the name by which any process finds it again. A time-out or reset after the request was
   * written is of the class `ambiguous`, because the task may exist.
   */
  start(request: VideoRequest, options: { signal: AbortSignal }): Promise<string>;
  report(task: string, options: { signal: AbortSignal }): Promise<VideoReport>;
  /** Returns the result in the requested format (MOV: `video/quicktime`); null for a last frame that was not made. */
  fetch(
    task: string,
    part: 'video' | 'last_frame',
    options: { request: Pick<VideoRequest, 'outputFormat'>; signal: AbortSignal },
  ): Promise<VideoContent | null>;
}

/** In pixels. */
export interface FrameSize {
  width: number;
  height: number;
}

/** The shorter side, in pixels. */
const shorterSides: Record<VideoResolution, number> = { '480p': 480, '720p': 720, '1080p': 1080, '4k': 2160 };
const maxSide = 3840;

/** Returns the size of a video by its resolution and its proportion (width divided by height). Both sides are even. */
export const videoSize = (resolution: VideoResolution, proportion: number): FrameSize => {
  const long = shorterSides[resolution] * Math.max(proportion, 1 / proportion);
  const scale = Math.min(1, maxSide / long);
  const short = even(shorterSides[resolution] * scale);
  const other = even(long * scale);
  return proportion >= 1 ? { width: other, height: short } : { width: short, height: other };
};

export const even = (value: number): number => Math.round(value / 2) * 2;

/** Returns the shape that is nearest to a proportion. Distances are logarithmic, so that wide and tall count alike. */
export const nearestShape = <Shape extends string>(shapes: readonly Shape[], proportion: number): Shape => {
  const distance = (shape: Shape): number => Math.abs(Math.log(ratioProportion(shape) / proportion));
  return shapes.reduce((best, shape) => (distance(shape) < distance(best) ? shape : best));
};

/** Returns width divided by height of a ratio such as `16:9`, or of a size such as `1024x1536`. */
export const ratioProportion = (ratio: string): number => {
  const [width = 1, height = 1] = ratio.split(/[:x]/).map(Number);
  return width / height;
};
