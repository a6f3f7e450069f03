import { describe, expect, it } from 'vitest';
import {
  ratioProportion,
  type VideoRatio,
  videoRatios,
  videoResolutions,
  videoSize,
} from '../../../src/providers/video/video-provider.ts';

const named = videoRatios.filter((ratio): ratio is Exclude<VideoRatio, 'adaptive'> => ratio !== 'adaptive');

describe('the pixels of a video', () => {
  it.each([
    ['480p', '16:9', 854, 480],
    ['720p', '16:9', 1280, 720],
    ['720p', '9:16', 720, 1280],
    ['720p', '1:1', 720, 720],
    ['1080p', '4:3', 1440, 1080],
    ['1080p', '21:9', 2520, 1080],
    ['4k', '16:9', 3840, 2160],
    ['4k', '21:9', 3840, 1646],
    ['4k', '3:4', 2160, 2880],
  ] as const)('of %s in %s are %i x %i', (resolution, ratio, width, height) => {
    expect(videoSize(resolution, ratioProportion(ratio))).toEqual({ width, height });
  });

  it('are even, near the ratio and never above 3,840', () => {
    for (const resolution of videoResolutions)
      for (const proportion of [...named.map(ratioProportion), 1.234, 0.77, 2.111]) {
        const { width, height } = videoSize(resolution, proportion);
        expect(width % 2).toBe(0);
        expect(height % 2).toBe(0);
        expect(Math.max(width, height)).toBeLessThanOrEqual(3840);
        expect(width / height).toBeCloseTo(proportion, 1);
      }
  });
});
