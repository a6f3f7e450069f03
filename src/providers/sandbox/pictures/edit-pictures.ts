import type { OverlayOptions } from 'sharp';
import { decodeImage, readImageHeader, withSharp } from '../../image/decode-image.ts';
import type { AspectRatio, InputImage } from '../../image/image-provider.ts';
import { even, type FrameSize, ratioProportion } from '../../video/video-provider.ts';

export interface EditRequest {
  /** At least one. */
  inputs: readonly InputImage[];
  aspectRatio: AspectRatio;
  signal: AbortSignal;
  /** Makes a transparent PNG of this size to lay over the picture. */
  overlay(size: FrameSize): Promise<Uint8Array>;
}

/** The owner of the sandbox's own decodings, which are limited to a share like those of an account. */
export const sandboxHolder = 'sandbox';
const background = '#101018';
/** The longest step over pictures of our own. */
const stepSeconds = 20;

/** Puts pictures upright and side by side in the ratio (`auto`: the shape of the first), with an overlay, as PNG. */
export const editPictures = async ({
  inputs,
  aspectRatio,
  signal,
  overlay,
}: EditRequest): Promise<Uint8Array> => {
  const options = { signal, accountId: sandboxHolder };
  let size: FrameSize;
  if (aspectRatio === 'auto' && inputs[0] !== undefined) {
    const { autoOrient } = await readImageHeader(inputs[0].bytes, options);
    const { columns, rows } = gridOf(inputs.length);
    size = sizeOfShape((columns * autoOrient.width) / (rows * autoOrient.height));
  } else size = pictureSize(aspectRatio);
  const tiles = layOutTiles(inputs.length, size);
  const parts: OverlayOptions[] = [];
  for (const [index, { bytes }] of inputs.entries()) {
    const { left = 0, top = 0, ...inside } = tiles[index] ?? {};
    const input = await decodeImage(
      bytes,
      (image) =>
        image
          .autoOrient()
          .resize({ ...inside, fit: 'contain', background })
          .png({ compressionLevel: 0 })
          .toBuffer(),
      options,
    );
    parts.push({ input, left, top });
  }
  parts.push({ input: Buffer.from(await overlay(size)), left: 0, top: 0 });
  return withSharp(
    (sharp) =>
      sharp({ create: { ...size, channels: 3, background } })
        .composite(parts)
        .png({ compressionLevel: 6 })
        .timeout({ seconds: stepSeconds })
        .toBuffer(),
    options,
  );
};

export interface Tile extends FrameSize {
  left: number;
  top: number;
}

const maxInRow = 4;

/** Returns columns and rows for `count` pictures, with rows as full as possible. */
const gridOf = (count: number): { columns: number; rows: number } => {
  const columns = count <= maxInRow ? count : Math.ceil(Math.sqrt(count));
  return { columns, rows: Math.ceil(count / columns) };
};

/** Returns the places of `count` pictures side by side in a canvas, in reading order. They cover its grid. */
export const layOutTiles = (count: number, canvas: FrameSize): Tile[] => {
  const { columns, rows } = gridOf(count);
  return Array.from({ length: count }, (_, index) => {
    const left = edge(index % columns, columns, canvas.width);
    const top = edge(Math.floor(index / columns), rows, canvas.height);
    return {
      left,
      top,
      width: edge((index % columns) + 1, columns, canvas.width) - left,
      height: edge(Math.floor(index / columns) + 1, rows, canvas.height) - top,
    };
  });
};

const edge = (index: number, parts: number, length: number): number => Math.round((index * length) / parts);

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
