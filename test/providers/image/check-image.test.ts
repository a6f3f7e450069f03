import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkImage, withSharp } from '../../../src/providers/image/decode-image.ts';
import { maxPixels } from '../../../src/providers/image/image-parts.ts';
import { makeBomb, makeImage, makeNoise, svg } from '../../media/input-images.ts';
import { noAbort, rejectionOf } from '../collect.ts';

const check = (bytes: Uint8Array, signal = noAbort()) => checkImage(bytes, { signal });
const formats = ['png', 'jpeg', 'webp'] as const;
const images = new Map<string, Buffer>();

beforeAll(async () => {
  // Before the library is told what it may decode.
  for (const format of [...formats, 'gif', 'avif'] as const) images.set(format, await makeImage(format));
  images.set('tiff', await sharp(image('png')).tiff().toBuffer());
  const noise = sharp(await makeNoise(96, 64));
  for (const format of formats)
    images.set(`${format} noise`, await noise.clone().toFormat(format).toBuffer());
  images.set('interlaced png', await noise.clone().png({ progressive: true }).toBuffer());
  images.set('progressive jpeg', await noise.clone().jpeg({ progressive: true }).toBuffer());
  await withSharp(() => Promise.resolve(), { signal: noAbort() });
});

const image = (name: string): Buffer => images.get(name) ?? Buffer.alloc(0);

describe('an image that is checked', () => {
  it.each([...formats, 'gif', 'avif', 'interlaced png', 'progressive jpeg'])(
    'is sound as %s',
    async (name) => {
      expect(await check(image(name))).toBeNull();
    },
  );

  it('is sound however many others are checked at the same time', async () => {
    const checks = Array.from({ length: 900 }, () => check(image('png')));
    expect(new Set(await Promise.all(checks))).toEqual(new Set([null]));
  });

  it('is of another type as HEIC, which differs from AVIF by its brands', async () => {
    const heic = Buffer.from(image('avif').toString('latin1').replace('ftypavif', 'ftypheic'), 'latin1');
    heic.fill('heic', 16, heic.readUInt32BE(0), 'latin1');
    expect(await check(heic)).toBe('other_type');
  });

  it('is undecodable as an AVIF whose pixels are more than it says', async () => {
    const lie = Buffer.from(image('avif'));
    lie.writeUInt32BE(4, lie.indexOf('ispe') + 8);
    expect(await check(lie)).toBe('undecodable');
  });

  it('is of another type as SVG', async () => {
    expect(await check(svg)).toBe('other_type');
  });

  it.each(['png noise', 'jpeg noise', 'webp noise', 'interlaced png', 'progressive jpeg'])(
    'is found cut off anywhere as %s',
    async (name) => {
      const whole = image(name);
      expect(await check(whole)).toBeNull();
      for (const part of [0.05, 0.3, 0.6, 0.9, 0.98])
        expect(await check(whole.subarray(0, Math.floor(whole.length * part)))).toBe('undecodable');
    },
  );

  it('is undecodable when only its first bytes are those of an image', async () => {
    const lie = Buffer.concat([image('png').subarray(0, 8), Buffer.alloc(500, 7)]);
    expect(await check(lie)).toBe('undecodable');
    expect(await check(Buffer.concat([image('png').subarray(0, 8), svg]))).toBe('undecodable');
  });

  it('may be large, but not larger than the limit however few bytes it has', async () => {
    const large = makeBomb(10_000, maxPixels / 10_000);
    const tooLarge = makeBomb(10_000, maxPixels / 10_000 + 1);
    expect(tooLarge.length).toBeLessThan(20_000);
    expect(await check(large)).toBeNull();
    expect(await check(tooLarge)).toBe('too_many_pixels');
  });

  it('is refused by its header alone when that claims a monstrous size', async () => {
    expect(await check(makeBomb(200_000, 200_000, 10))).toBe('too_many_pixels');
  });

  it('is left alone when the caller has gone', async () => {
    const gone = new AbortController();
    const reason = new Error('gone');
    gone.abort(reason);
    expect(await rejectionOf(check(image('png'), gone.signal))).toBe(reason);
  });
});

describe('the image library, once loaded', () => {
  it('decodes no other format in this process', async () => {
    await expect(sharp(svg).metadata()).rejects.toThrow('unsupported image format');
    await expect(sharp(images.get('tiff')).metadata()).rejects.toThrow('unsupported image format');
  });
});
