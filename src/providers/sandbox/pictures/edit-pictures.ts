import type { OverlayOptions, Sharp } from 'sharp';
import { mostPixels } from '../../image/check-image.ts';
import type { AspectRatio, InputImage } from '../../image/image-provider.ts';
import { loadSharp, type SharpModule } from '../../image/load-sharp.ts';
import { gridOf, layOutTiles, type Tile } from './lay-out-tiles.ts';
import { pictureSize, sizeOfShape, type PictureSize } from './picture-size.ts';

export interface EditRequest {
  /** At least one. */
  inputs: readonly InputImage[];
  aspectRatio: AspectRatio;
  signal: AbortSignal;
  /** A see-through PNG of the asked size, to lay over all. */
  overlay(size: PictureSize): Promise<Uint8Array>;
}

interface Tools {
  sharp: SharpModule;
  signal: AbortSignal;
}

/** For one step over one picture. */
const stepSeconds = 20;

/**
 * The pictures upright, whole and side by side in the asked ratio (`auto`: in the shape of the first), with an overlay, as
 * PNG. Room beside a picture is filled with a blurred part of it.
 */
export const editPictures = async ({
  inputs,
  aspectRatio,
  signal,
  overlay,
}: EditRequest): Promise<Uint8Array> => {
  const tools = { sharp: await loadSharp(), signal };
  const size = aspectRatio === 'auto' ? await shapeOf(inputs, tools) : pictureSize(aspectRatio);
  const parts: OverlayOptions[] = [];
  for (const [index, tile] of layOutTiles(inputs.length, size).entries()) {
    const input = inputs[index];
    if (input !== undefined) parts.push(...(await placeInTile(input, tile, tools)));
  }
  parts.push({ input: Buffer.from(await overlay(size)), left: 0, top: 0 });
  const canvas = tools.sharp({
    create: { ...size, channels: 3, background: '#101018' },
  });
  return take(canvas.composite(parts).png({ compressionLevel: 6 }), signal);
};

const shapeOf = async (inputs: readonly InputImage[], tools: Tools): Promise<PictureSize> => {
  const [first] = inputs;
  if (first === undefined) throw new RangeError('an edit needs a picture');
  const { width, height } = (await open(first.bytes, tools).metadata()).autoOrient;
  const { columns, rows } = gridOf(inputs.length);
  return sizeOfShape((columns * width) / (rows * height));
};

/** A picture that covers its tile, blurred and dark, and on it the whole picture. */
const placeInTile = async (
  { bytes }: InputImage,
  { left, top, width, height }: Tile,
  tools: Tools,
): Promise<OverlayOptions[]> => {
  const upright = open(bytes, tools).autoOrient();
  const whole = await take(upright.resize({ width, height, fit: 'inside' }).png(fast), tools.signal);
  const inside = await open(whole, tools).metadata();
  const leftover = { x: width - inside.width, y: height - inside.height };
  const placed = {
    input: whole,
    left: left + Math.floor(leftover.x / 2),
    top: top + Math.floor(leftover.y / 2),
  };
  if (leftover.x === 0 && leftover.y === 0) return [placed];
  const ground = open(whole, tools)
    .resize({ width, height, fit: 'cover' })
    .flatten({ background: '#101018' })
    .blur(18)
    .modulate({ brightness: 0.55 });
  return [{ input: await take(ground.png(fast), tools.signal), left, top }, placed];
};

/** Between two steps, size does not matter. */
const fast = { compressionLevel: 0 };

const open = (bytes: Uint8Array, { sharp }: Tools): Sharp =>
  sharp(bytes, { limitInputPixels: mostPixels, failOn: 'error' });

const take = async (picture: Sharp, signal: AbortSignal): Promise<Buffer> => {
  signal.throwIfAborted();
  return picture.timeout({ seconds: stepSeconds }).toBuffer();
};
