import type { AspectRatio } from '../../image/image-provider.ts';
import { even, ratioProportion, type FrameSize } from '../../video/video-size.ts';

const longerSide = 1024;

export const pictureSize = (ratio: AspectRatio): FrameSize =>
  sizeOfShape(ratio === 'auto' ? 1 : ratioProportion(ratio));

/** The most extreme shape. A narrower picture would have no room for words. */
const extremeShape = 4;

/** Returns the size by width over height, with a longer side of 1,024 and even sides. */
export const sizeOfShape = (shape: number): FrameSize => {
  const clamped = Math.min(Math.max(shape, 1 / extremeShape), extremeShape);
  return clamped >= 1
    ? { width: longerSide, height: even(longerSide / clamped) }
    : { width: even(longerSide * clamped), height: longerSide };
};
