import type { AspectRatio } from '../../image/image-provider.ts';

export interface PictureSize {
  width: number;
  height: number;
}

const longerSide = 1024;

/** Sizes by ratio: the longer side is 1,024, and every side is even. */
const sizes: Record<AspectRatio, PictureSize> = {
  auto: { width: 1024, height: 1024 },
  '1:1': { width: 1024, height: 1024 },
  '4:3': { width: 1024, height: 768 },
  '3:4': { width: 768, height: 1024 },
  '3:2': { width: 1024, height: 682 },
  '2:3': { width: 682, height: 1024 },
  '16:9': { width: 1024, height: 576 },
  '9:16': { width: 576, height: 1024 },
  '5:4': { width: 1024, height: 820 },
  '4:5': { width: 820, height: 1024 },
  '21:9': { width: 1024, height: 438 },
};

export const pictureSize = (ratio: AspectRatio): PictureSize => sizes[ratio];

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
