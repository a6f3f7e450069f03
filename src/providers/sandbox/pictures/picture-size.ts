import type { AspectRatio } from '../../image/image-provider.ts';
import { ratioProportion } from '../../video/video-size.ts';

export interface PictureSize {
  width: number;
  height: number;
}

const longerSide = 1024;

export const pictureSize = (ratio: AspectRatio): PictureSize =>
  sizeOfShape(ratio === 'auto' ? 1 : ratioProportion(ratio));

/** The most extreme shape. A narrower picture would have no room for words. */
const extremeShape = 4;

/** Returns the size by width over height, with a longer side of 1,024 and even sides. */
export const sizeOfShape = (shape: number): PictureSize => {
  const clamped = Math.min(Math.max(shape, 1 / extremeShape), extremeShape);
  return clamped >= 1
    ? { width: longerSide, height: even(longerSide / clamped) }
    : { width: even(longerSide * clamped), height: longerSide };
};

const even = (length: number): number => 2 * Math.round(length / 2);
