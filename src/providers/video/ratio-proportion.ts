import type { VideoRatio } from './video-provider.ts';

/** Returns width divided by height of a named ratio. */
export const ratioProportion = (ratio: Exclude<VideoRatio, 'adaptive'>): number => {
  const [width = 1, height = 1] = ratio.split(':').map(Number);
  return width / height;
};
