import type { VideoResolution } from './video-provider.ts';

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

/** Returns width divided by height of a ratio such as `16:9`, or of a size such as `1024x1536`. */
export const ratioProportion = (ratio: string): number => {
  const [width = 1, height = 1] = ratio.split(/[:x]/).map(Number);
  return width / height;
};
