import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkImage } from '../../../src/providers/image/decode-image.ts';
import { hasTooManyParts } from '../../../src/providers/image/image-parts.ts';
import {
  makeFrames,
  makeImage,
  makeScans,
  repeatFrame,
  withChunks,
  withRiffChunks,
  withSegments,
} from '../../media/input-images.ts';
import { noAbort } from '../collect.ts';

const check = (bytes: Uint8Array) => checkImage(bytes, { signal: noAbort() });

let jpeg: Buffer;
let webp: Buffer;
let gif: Buffer;
let avif: Buffer;

beforeAll(async () => {
  jpeg = await makeImage('jpeg');
  webp = await makeImage('webp');
  gif = await makeImage('gif');
  avif = await makeImage('avif');
});

const packed = deflateSync(Buffer.alloc(100_000, 65));
const zTXt = Buffer.concat([Buffer.from('a\0\0', 'latin1'), packed]);
const iTXt = Buffer.concat([Buffer.from('a\0\x01\0\0\0', 'latin1'), packed]);
/** An AVIF with so many boxes that nobody reads behind it. */
const withBoxes = (count: number): Buffer =>
  Buffer.concat([avif, ...Array<Buffer>(count).fill(Buffer.from('\0\0\0\x08free', 'latin1'))]);
const empty = (count: number) => Array<Buffer>(count).fill(Buffer.alloc(0));

describe('an image is taken with as many parts as are generous, and refused unread with one more', () => {
  it.each<[string, (count: number) => Buffer | Promise<Buffer>, number]>([
    ['scans of a JPEG', makeScans, 100],
    ['packed texts of a PNG', (count) => withChunks('zTXt', zTXt, count), 32],
    ['international texts of a PNG', (count) => withChunks('iTXt', iTXt, count), 32],
    ['frames of a WebP', makeFrames, 1_000],
    // Beside these, the picture itself has some parts.
    ['segments of a JPEG', (count) => withSegments(jpeg, 0xe1, empty(count)), 3_985],
    ['chunks of a PNG', (count) => withChunks('tIME', Buffer.alloc(0), count), 3_999],
    ['chunks of a WebP', (count) => withRiffChunks(webp, count), 3_998],
    ['frames of a GIF', (count) => repeatFrame(gif, count), 1_000],
    ['extensions of a GIF', (count) => repeatFrame(gif, 1, count), 3_990],
    ['boxes of an AVIF', withBoxes, 3_970],
  ])('%s', async (_name, make, most) => {
    expect(await check(await make(most))).toBeNull();
    const excess = await make(most + 20);
    expect(await check(excess)).toBe('too_many_parts');
    expect(hasTooManyParts(excess)).toBe(true);
  });

  it.each<[string, (count: number) => Buffer | Promise<Buffer>, number]>([
    ['scans', makeScans, 101],
    ['texts', (count) => withChunks('zTXt', zTXt, count), 33],
    ['frames', makeFrames, 1_001],
  ])('to the one: %s', async (_name, make, first) => {
    expect([hasTooManyParts(await make(first - 1)), hasTooManyParts(await make(first))]).toEqual([
      false,
      true,
    ]);
  });
});

describe('the parts of an image are counted where its reader finds them', () => {
  it('in the lists of items of an AVIF, which only tell how many they are', () => {
    expect(hasTooManyParts(avif)).toBe(false);
    for (const [name, at] of [
      ['iinf', 8],
      ['iloc', 10],
    ] as const) {
      const listed = Buffer.from(avif);
      listed.writeUInt16BE(1_001, listed.indexOf(name) + at);
      expect(hasTooManyParts(listed)).toBe(true);
    }
  });

  it('in the samples of an AVIF sequence, and in boxes within boxes', () => {
    const box = (name: string, body: Buffer): Buffer => {
      const head = Buffer.alloc(8);
      head.writeUInt32BE(body.length + 8);
      head.write(name, 4, 'latin1');
      return Buffer.concat([head, body]);
    };
    const sequence = (samples: number): Buffer => {
      const sizes = Buffer.alloc(12);
      sizes.writeUInt32BE(samples, 8);
      const track = ['stsz', 'stbl', 'minf', 'mdia', 'trak', 'moov'].reduce<Buffer>(
        (body, name) => box(name, body),
        sizes,
      );
      return Buffer.concat([avif, track]);
    };
    expect(hasTooManyParts(sequence(1_000))).toBe(false);
    expect(hasTooManyParts(sequence(1_001))).toBe(true);
    expect(hasTooManyParts(Buffer.concat([avif, box('moov', withBoxes(4_000).subarray(avif.length))]))).toBe(
      true,
    );
  });

  it('not in the thumbnail within a segment', async () => {
    const thumbnail = makeScans(800);
    expect(hasTooManyParts(thumbnail)).toBe(true);
    expect(await check(withSegments(jpeg, 0xe1, [thumbnail]))).toBeNull();
  });

  it('not after the end of the image', async () => {
    expect(await check(Buffer.concat([jpeg, Buffer.alloc(10), makeScans(800)]))).toBeNull();
  });

  it('behind fill bytes, and behind a segment of an impossible length', () => {
    const bomb = makeScans(800);
    const filled = bomb.toString('latin1').replaceAll('\xff\xda', '\xff\xff\xda');
    expect(hasTooManyParts(Buffer.from(filled, 'latin1'))).toBe(true);
    const short = Buffer.from([0xff, 0xe1, 0, 0]);
    expect(hasTooManyParts(Buffer.concat([bomb.subarray(0, 2), short, bomb.subarray(2)]))).toBe(true);
  });

  it('in frames within a frame', async () => {
    expect(hasTooManyParts(await makeFrames(3, 400))).toBe(true);
  });
});

const magics = [
  Buffer.from([0xff, 0xd8, 0xff]),
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  Buffer.from('RIFF\0\0\0\0WEBP', 'latin1'),
];

it('any bytes are walked to their end without a fault', () => {
  fc.assert(
    fc.property(fc.constantFrom(...magics), fc.uint8Array({ maxLength: 300 }), (magic, rest) => {
      expect(hasTooManyParts(Buffer.concat([magic, rest]))).toBe(false);
    }),
  );
});

it('reads boxes within boxes in linear time and without recursion', () => {
  const depth = 3_900;
  const box = (size: number, type: string): Buffer => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(size);
    head.write(type, 4);
    return head;
  };
  const nested = Array.from({ length: depth }, (_, level) => box((depth - level) * 8, 'moov'));
  const image = Buffer.concat([box(20, 'ftyp'), Buffer.from('avif\0\0\0\0avif'), ...nested]);
  expect(hasTooManyParts(image)).toBe(false);
});
