import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  aspectRatios,
  type AspectRatio,
  type InputImage,
} from '../../../src/providers/image/image-provider.ts';
import { layOutTiles, sizeOfShape } from '../../../src/providers/sandbox/pictures/edit-pictures.ts';
import { createSandboxImage } from '../../../src/providers/sandbox/sandbox-image.ts';
import { makeImage, makeScans, type ImageShape } from '../../media/input-images.ts';
import { noAbort, rejectionOf } from '../collect.ts';

const sandbox = createSandboxImage();
afterAll(() => sandbox.close());

interface EditOptions {
  prompt?: string;
  aspectRatio?: AspectRatio;
  signal?: AbortSignal;
}

const edit = async (
  inputs: InputImage[],
  { prompt = 'Make it warmer', aspectRatio = 'auto', signal = noAbort() }: EditOptions = {},
): Promise<Buffer> => {
  const image = await sandbox.generate({ model: 'm', prompt, aspectRatio, inputs }, { signal });
  expect(image).toMatchObject({ contentType: 'image/png', revisedPrompt: null });
  return Buffer.from(image.bytes);
};

const png = async (shape?: ImageShape): Promise<InputImage> => ({
  bytes: Uint8Array.from(await makeImage('png', shape)),
  contentType: 'image/png',
});

const sizeOf = async (picture: Buffer): Promise<[width: number, height: number]> => {
  const { width, height } = await sharp(picture).metadata();
  return [width, height];
};

/** The mean red, green and blue of a small square around a place, given in parts of the picture's size. */
const colourAt = async (picture: Buffer, x: number, y: number): Promise<[number, number, number]> => {
  const [width, height] = await sizeOf(picture);
  const { data } = await sharp(picture)
    .removeAlpha()
    .extract({ left: Math.round(x * width) - 4, top: Math.round(y * height) - 4, width: 8, height: 8 })
    .resize(1, 1)
    .raw()
    .toBuffer({ resolveWithObject: true });
  return [data[0] ?? 0, data[1] ?? 0, data[2] ?? 0];
};

const isMostly = ([red, green, blue]: [number, number, number]): string => {
  if (red > green + 20 && red > blue + 20) return 'red';
  return green > red + 20 && green > blue + 20 ? 'green' : 'other';
};

let red: InputImage;
let green: InputImage;
beforeAll(async () => {
  red = await png({ width: 60, height: 40, colour: '#ff0000' });
  green = await png({ width: 60, height: 40, colour: '#00ff00' });
});

describe('an edit by the sandbox', () => {
  it.each(aspectRatios.filter((ratio) => ratio !== 'auto'))('has the ratio %s', async (aspectRatio) => {
    const [width, height] = await sizeOf(await edit([red], { aspectRatio }));
    const [across = 1, down = 1] = aspectRatio.split(':').map(Number);
    expect(Math.max(width, height)).toBe(1024);
    expect(width / height).toBeCloseTo(across / down, 1);
  });

  it.each([
    [60, 40, 1024, 682],
    [40, 60, 682, 1024],
    [500, 500, 1024, 1024],
    [2_000, 20, 1024, 256],
    [1, 90, 256, 1024],
  ])('keeps the shape of an input of %d x %d when the ratio is auto', async (width, height, ...size) => {
    expect(await sizeOf(await edit([await png({ width, height })]))).toEqual(size);
  });

  it('shows the input, changed', async () => {
    const picture = await edit([red]);
    const [redness, greenness] = await colourAt(picture, 0.5, 0.4);
    expect(isMostly(await colourAt(picture, 0.5, 0.4))).toBe('red');
    expect([redness, greenness]).not.toEqual([255, 0]);
  });

  it('stands upright whatever the camera’s note of its turning says', async () => {
    const wide = sharp({ create: { width: 80, height: 40, channels: 3, background: '#ff0000' } });
    const turned = await wide.withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const picture = await edit([{ bytes: Uint8Array.from(turned), contentType: 'image/jpeg' }]);
    expect(await sizeOf(picture)).toEqual([512, 1024]);
  });

  it('puts several inputs side by side, in their order', async () => {
    const picture = await edit([red, green], { aspectRatio: '16:9' });
    expect(isMostly(await colourAt(picture, 0.25, 0.4))).toBe('red');
    expect(isMostly(await colourAt(picture, 0.75, 0.4))).toBe('green');
    const other = await edit([green, red], { aspectRatio: '16:9' });
    expect(isMostly(await colourAt(other, 0.25, 0.4))).toBe('green');
    expect(isMostly(await colourAt(other, 0.75, 0.4))).toBe('red');
  });

  it('takes as many as a request may have, of all formats', async () => {
    const webp = { bytes: Uint8Array.from(await makeImage('webp')), contentType: 'image/webp' };
    const jpeg = { bytes: Uint8Array.from(await makeImage('jpeg')), contentType: 'image/jpeg' };
    const inputs = Array.from({ length: 16 }, (_, index) => [red, webp, jpeg, green][index % 4] ?? red);
    expect(await sizeOf(await edit(inputs, { aspectRatio: '1:1' }))).toEqual([1024, 1024]);
  });

  it('is the same for the same request, and another for another prompt or input', async () => {
    const [picture, same, otherWords, otherInput] = await Promise.all([
      edit([red]),
      edit([red]),
      edit([red], { prompt: 'Make it colder' }),
      edit([green]),
    ]);
    expect(picture.equals(same)).toBe(true);
    expect(picture.equals(otherWords)).toBe(false);
    expect(picture.equals(otherInput)).toBe(false);
  });

  it.each([
    ['markup', '</text><script>'],
    ['letters that the font lacks', '静かな港 🌊'],
    ['very many words', 'word '.repeat(50_000)],
  ])('is made for a prompt of %s', async (_name, prompt) => {
    expect(await sizeOf(await edit([red], { prompt }))).toEqual([1024, 682]);
  });

  it('of see-through pictures is not see-through', async () => {
    const clear = await sharp({
      create: { width: 50, height: 50, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } },
    })
      .png()
      .toBuffer();
    const picture = await edit([{ bytes: Uint8Array.from(clear), contentType: 'image/png' }]);
    expect((await sharp(picture).stats()).isOpaque).toBe(true);
  });

  it('fails with an input that is no image', async () => {
    const broken = { bytes: red.bytes.slice(0, 60), contentType: 'image/png' };
    expect(await rejectionOf(edit([broken]))).toMatchObject({ name: 'ProviderError' });
  });

  it('never begins on an image that would occupy the decoder', async () => {
    const bomb = { bytes: Uint8Array.from(makeScans(800)), contentType: 'image/jpeg' };
    for (const aspectRatio of ['auto', '1:1'] as const)
      expect(await rejectionOf(edit([red, bomb], { aspectRatio }))).toMatchObject({
        code: 'upstream_error',
        cause: { problem: 'too_many_parts' },
      });
  });

  it('obeys the triggers', async () => {
    expect(await rejectionOf(edit([red], { prompt: 'x [sandbox:moderated]' }))).toMatchObject({
      code: 'content_policy_violation',
    });
  });

  it('waits while two others are made, so that few pictures are in memory at once', async () => {
    const begun = new Set<number>();
    const edits = Array.from({ length: 5 }, (_, index) =>
      edit([
        {
          contentType: red.contentType,
          get bytes() {
            begun.add(index);
            return red.bytes;
          },
        },
      ]),
    );
    await new Promise(setImmediate);
    expect(begun.size).toBe(2);
    await Promise.all(edits);
    expect(begun.size).toBe(5);
  });

  it('ends when the caller aborts while it is made', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const making = rejectionOf(edit([red], { signal: controller.signal }));
    setImmediate(() => controller.abort(reason));
    expect(await making).toBe(reason);
    expect(await sizeOf(await edit([red]))).toEqual([1024, 682]);
  });
});

describe('tiles', () => {
  it.each([1, 2, 3, 4, 5, 7, 9, 16])('of %d pictures lie in the canvas and not over each other', (count) => {
    const canvas = { width: 1024, height: 576 };
    const tiles = layOutTiles(count, canvas);
    expect(tiles).toHaveLength(count);
    for (const [index, tile] of tiles.entries()) {
      expect(tile.width).toBeGreaterThan(0);
      expect(tile.left + tile.width).toBeLessThanOrEqual(canvas.width);
      expect(tile.top + tile.height).toBeLessThanOrEqual(canvas.height);
      for (const other of tiles.slice(index + 1))
        expect(
          other.left >= tile.left + tile.width ||
            tile.left >= other.left + other.width ||
            other.top >= tile.top + tile.height,
        ).toBe(true);
    }
  });

  it('cover the canvas when their rows are full', () => {
    const area = layOutTiles(3, { width: 1000, height: 500 }).reduce(
      (sum, tile) => sum + tile.width * tile.height,
      0,
    );
    expect(area).toBe(500_000);
  });
});

describe('the size for a shape', () => {
  it('has even sides and is at most four times as long as wide', () => {
    for (let shape = 0.01; shape < 100; shape *= 1.07) {
      const { width, height } = sizeOfShape(shape);
      expect([width % 2, height % 2, Math.max(width, height)]).toEqual([0, 0, 1024]);
      expect(Math.min(width, height)).toBeGreaterThanOrEqual(256);
    }
  });
});
