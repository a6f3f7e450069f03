import type { OverlayOptions, Sharp } from 'sharp';
import { decodeImage, readImageHeader, withSharp, type DecodeOptions } from '../../image/decode-image.ts';
import type { AspectRatio, InputImage } from '../../image/image-provider.ts';
import { sandboxHolder } from '../sandbox-holder.ts';
import { gridOf, layOutTiles, type Tile } from './lay-out-tiles.ts';
import { pictureSize, sizeOfShape, type PictureSize } from './picture-size.ts';

export interface EditRequest {
  /** At least one. */
  inputs: readonly InputImage[];
  aspectRatio: AspectRatio;
  signal: AbortSignal;
  /** Makes a transparent PNG of this size to lay over the picture. */
  overlay(size: PictureSize): Promise<Uint8Array>;
}

/** The longest step over pictures of our own. */
const stepSeconds = 20;

/**
 * Puts the whole pictures upright and side by side in the requested ratio (`auto`: in the shape of the first), with an
 * overlay, as PNG. The space beside a picture is filled with a blurred part of it.
 */
export const editPictures = async ({
  inputs,
  aspectRatio,
  signal,
  overlay,
}: EditRequest): Promise<Uint8Array> => {
  const options = { signal, accountId: sandboxHolder };
  const size = aspectRatio === 'auto' ? await shapeOf(inputs, options) : pictureSize(aspectRatio);
  const parts: OverlayOptions[] = [];
  for (const [index, tile] of layOutTiles(inputs.length, size).entries()) {
    const input = inputs[index];
    if (input !== undefined) parts.push(...(await placeInTile(input, tile, options)));
  }
  parts.push({ input: Buffer.from(await overlay(size)), left: 0, top: 0 });
  return withSharp((sharp) => {
    const canvas = sharp({ create: { ...size, channels: 3, background: '#101018' } });
    return take(canvas.composite(parts).png({ compressionLevel: 6 }));
  }, options);
};

const shapeOf = async (inputs: readonly InputImage[], options: DecodeOptions): Promise<PictureSize> => {
  const [first] = inputs;
  if (first === undefined) throw new RangeError('an edit needs a picture');
  const { width, height } = (await readImageHeader(first.bytes, options)).autoOrient;
  const { columns, rows } = gridOf(inputs.length);
  return sizeOfShape((columns * width) / (rows * height));
};

/** Fills a tile with a blurred, dark copy of the picture, and puts the whole picture on it. */
const placeInTile = async (
  { bytes }: InputImage,
  { left, top, width, height }: Tile,
  options: DecodeOptions,
): Promise<OverlayOptions[]> => {
  const { data: whole, info: inside } = await decodeImage(
    bytes,
    (image) =>
      image
        .autoOrient()
        .resize({ width, height, fit: 'inside' })
        .png(fast)
        .toBuffer({ resolveWithObject: true }),
    options,
  );
  const leftover = { x: width - inside.width, y: height - inside.height };
  const placed = {
    input: whole,
    left: left + Math.floor(leftover.x / 2),
    top: top + Math.floor(leftover.y / 2),
  };
  if (leftover.x === 0 && leftover.y === 0) return [placed];
  const ground = await withSharp(
    (sharp) =>
      take(
        sharp(whole)
          .resize({ width, height, fit: 'cover' })
          .flatten({ background: '#101018' })
          .blur(18)
          .modulate({ brightness: 0.55 })
          .png(fast),
      ),
    options,
  );
  return [{ input: ground, left, top }, placed];
};

/** The size of pictures between two steps does not matter. */
const fast = { compressionLevel: 0 };

const take = (picture: Sharp): Promise<Buffer> => picture.timeout({ seconds: stepSeconds }).toBuffer();
