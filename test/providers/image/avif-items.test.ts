import { describe, expect, it } from 'vitest';
import { checkImage, readImageHeader } from '../../../src/providers/image/decode-image.ts';
import { hasTooManyParts } from '../../../src/providers/image/image-parts.ts';
import { makeImage } from '../../media/input-images.ts';
import { noAbort } from '../collect.ts';
import { box } from '../video/edit-boxes.ts';
import { makeAvif, tileSide } from './make-avif.ts';

const options = () => ({ signal: noAbort() });
const isRefused = async (...made: Parameters<typeof makeAvif>) => hasTooManyParts(await makeAvif(...made));

const square = (side: number) => ({ width: side, height: side });
const grid = (side: number, rows: number, columns: number, of: number[]) => ({
  ...square(side),
  made: { type: 'grid' as const, rows, columns, of },
});
const times = (item: number, count: number): number[] => Array<number>(count).fill(item);

describe('an AVIF of several items', () => {
  it('is decoded as a grid with transparency, whose tiles are many', async () => {
    const side = 8 * tileSide;
    const tiles = Array.from({ length: 64 }, () => square(tileSide));
    const alphas = tiles.map(() => square(tileSide));
    const image = await makeAvif([
      grid(
        side,
        8,
        8,
        [...tiles.keys()].map((index) => index + 3),
      ),
      {
        ...grid(
          side,
          8,
          8,
          [...tiles.keys()].map((index) => index + 67),
        ),
        alphaOf: 1,
      },
      ...tiles,
      ...alphas,
    ]);
    expect(await readImageHeader(image, options())).toMatchObject({ ...square(side), hasAlpha: true });
    expect(await checkImage(image, options())).toBeNull();
  });

  it('is taken as a grid of the most pixels, with transparency', async () => {
    const side = 7_000;
    const all = [square(512), square(512)];
    expect(
      await isRefused([
        grid(side, 14, 14, times(3, 196)),
        { ...grid(side, 14, 14, times(4, 196)), alphaOf: 1 },
        ...all,
      ]),
    ).toBe(false);
  });

  it('is refused where its tiles have more pixels together than any honest image, however small its canvas', async () => {
    expect(await isRefused([grid(64, 12, 20, times(2, 240)), square(1_000)])).toBe(false);
    expect(await isRefused([grid(64, 12, 21, times(2, 252)), square(1_000)])).toBe(true);
    expect(await isRefused([grid(64, 1, 1, [2]), square(7_072)])).toBe(true);
  });

  it('is refused where tiles have tiles, or transparency, that multiply', async () => {
    expect(await isRefused([grid(64, 4, 4, times(2, 16)), grid(64, 4, 4, times(3, 16)), square(1_000)])).toBe(
      true,
    );
    expect(
      await isRefused([
        grid(64, 4, 4, times(2, 16)),
        square(64),
        { ...grid(64, 4, 4, times(4, 16)), alphaOf: 2 },
        square(1_000),
      ]),
    ).toBe(true);
    expect(await isRefused([grid(64, 1, 1, [2]), grid(64, 1, 1, [1])])).toBe(true);
  });

  it('is refused where a picture has so many frames that they have too many pixels together', async () => {
    const image = await makeAvif([{ ...square(tileSide), frames: 4 }]);
    expect(hasTooManyParts(image)).toBe(false);
    expect(await checkImage(image, options())).toBeNull();
    expect(await isRefused([{ ...square(5_000), frames: 10 }])).toBe(false);
    expect(await isRefused([{ ...square(5_000), frames: 11 }])).toBe(true);
    expect(await isRefused([grid(128, 2, 2, times(2, 4)), { ...square(5_000), frames: 3 }])).toBe(true);
  });

  it('is refused where a picture is in more pieces than layers, or hides frames behind zeros', async () => {
    const image = await makeAvif([square(64)]);
    const many = Buffer.from(image);
    many.writeUInt16BE(17, many.indexOf('iloc') + 4 + 4 + 2 + 2 + 2 + 2);
    expect(hasTooManyParts(many)).toBe(true);
    const hiding = await makeAvif([{ ...square(5_000), frames: 12 }]);
    const media = hiding.subarray(hiding.indexOf('mdat') + 4);
    // In place of the delimiter of a frame, which is optional.
    media.fill(0, 0, 2);
    expect(hasTooManyParts(hiding)).toBe(true);
  });

  it('is refused as an overlay, whose canvas may be of any size', async () => {
    expect(
      await isRefused([{ ...square(64), made: { type: 'iovl', rows: 1, columns: 1, of: [2] } }, square(64)]),
    ).toBe(true);
  });

  it('is refused where a crop leaves few of too many pixels', async () => {
    const crop = Buffer.alloc(32);
    for (const [index, value] of [16, 1, 64, 1, 0, 1, 0, 1].entries()) crop.writeUInt32BE(value, 4 * index);
    const cropped = await makeAvif([square(64)], [box('clap', crop)]);
    expect(await readImageHeader(cropped, options())).toMatchObject({ width: 16 });
    expect(await checkImage(cropped, options())).toBeNull();
    expect(await isRefused([square(8_000)], [box('clap', crop)])).toBe(true);
  });

  it('is refused where a second list of properties makes them uncertain', async () => {
    const image = await makeAvif([square(64)]);
    const list = box('meta', Buffer.concat([Buffer.alloc(4), box('iprp', box('ipco', Buffer.alloc(0)))]));
    expect(hasTooManyParts(Buffer.concat([image, list]))).toBe(true);
  });

  it('is read behind and in a box of a size of 64 bits', async () => {
    const image = await makeImage('avif');
    image.writeUInt16BE(1_001, image.indexOf('iinf') + 8);
    const metaAt = image.indexOf('meta') - 4;
    const metaEnd = metaAt + image.readUInt32BE(metaAt);
    const long = (name: string, body: Buffer): Buffer => {
      const head = Buffer.alloc(16);
      head.writeUInt32BE(1);
      head.write(name, 4, 'latin1');
      head.writeBigUInt64BE(BigInt(body.length + 16), 8);
      return Buffer.concat([head, body]);
    };
    const [before, meta, behind] = [
      image.subarray(0, metaAt),
      image.subarray(metaAt + 8, metaEnd),
      image.subarray(metaEnd),
    ];
    for (const made of [
      [before, long('free', Buffer.alloc(0)), box('meta', meta), behind],
      [before, long('meta', meta), behind],
    ])
      expect(hasTooManyParts(Buffer.concat(made))).toBe(true);
  });

  it.each([
    [1, 1, false],
    [3, 1, true],
    [1, 4, false],
    [1, 5, true],
  ])(
    'is read where the pieces of %i items are the whole file, and %i boxes have their properties: refused %s',
    (count, boxes, isTooMuch) => {
      const u16 = (value: number): number[] => [value >> 8, value & 0xff];
      const u32 = (value: number): number[] => [...u16(value >> 16), ...u16(value & 0xff_ff)];
      const full = (name: string, bytes: number[]): Buffer => box(name, Buffer.from([0, 0, 0, 0, ...bytes]));
      const ids = Array.from({ length: count }, (_, index) => index + 1);
      const size = full('ispe', [...u32(64), ...u32(64)]);
      const owners = full('ipma', [...u32(count), ...ids.flatMap((id) => [...u16(id), 1, 1])]);
      const [half, header] = [50_000, 400];
      const pieces = [header, half, header + half, half].flatMap(u32);
      const places = full('iloc', [
        ...[0x44, 0, ...u16(count)],
        ...ids.flatMap((id) => [...u16(id), 0, 0, ...u16(2), ...pieces]),
      ]);
      const meta = box(
        'meta',
        Buffer.concat([
          Buffer.alloc(4),
          box('iprp', Buffer.concat([box('ipco', size), ...Array<Buffer>(boxes).fill(owners)])),
          places,
        ]),
      );
      const brand = box('ftyp', Buffer.from('avif\0\0\0\0avif'));
      const media = box('mdat', Buffer.alloc(2 * half + header, 0xff));
      expect(hasTooManyParts(Buffer.concat([brand, meta, media]))).toBe(isTooMuch);
    },
  );
});
