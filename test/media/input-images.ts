import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';

export interface ImageShape {
  width?: number;
  height?: number;
  colour?: string;
}

/** An image of one colour, in the asked format. */
export const makeImage = (
  format: 'png' | 'jpeg' | 'webp' | 'gif' | 'avif',
  { width = 48, height = 32, colour = '#3366cc' }: ImageShape = {},
): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: colour } })
    .toFormat(format)
    .toBuffer();

/** An image that does not compress, so that its bytes are about three a pixel. */
export const makeNoise = (width: number, height: number): Promise<Buffer> => {
  const pixels = Buffer.alloc(width * height * 3);
  let state = 1;
  for (let index = 0; index < pixels.length; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    pixels[index] = state >>> 24;
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .png({ compressionLevel: 1 })
    .toBuffer();
};

/** A PNG in black and white of any size: a few kilobytes that decode to width times height pixels; sound unless rows are missing. */
export const makeBomb = (width: number, height: number, rows = height): Buffer =>
  Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header(width, height)),
    chunk('IDAT', deflateSync(Buffer.alloc(rows * (1 + Math.ceil(width / 8))))),
    chunk('IEND', Buffer.alloc(0)),
  ]);

/** A small PNG in black and white that is padded to many bytes with what readers skip. */
export const makeBulky = (megabytes: number): Buffer => {
  const picture = makeBomb(60, 40);
  const padding = Array.from({ length: megabytes }, () => chunk('paDd', Buffer.alloc(1024 ** 2, 1)));
  const beforeEnd = picture.length - 12;
  return Buffer.concat([picture.subarray(0, beforeEnd), ...padding, picture.subarray(beforeEnd)]);
};

const header = (width: number, height: number): Buffer => {
  const bytes = Buffer.alloc(13);
  bytes.writeUInt32BE(width, 0);
  bytes.writeUInt32BE(height, 4);
  bytes[8] = 1;
  return bytes;
};

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(8);
  framed.writeUInt32BE(data.length, 0);
  framed.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([framed.subarray(0, 4), body, framed.subarray(4)]);
};

/** A sound progressive JPEG, grey, 64 pixels square, of so many scans (883 at most), each of a dozen bytes. */
export const makeScans = (scans: number): Buffer => {
  const nothing = Buffer.alloc(8);
  const frame = [8, 0, 64, 0, 64, 1, 1, 0x11, 0];
  /** The one code of a table, a bit long: no difference (DC), or the end of a block (AC). */
  const table = (kind: number): Buffer => segment(0xc4, [kind, 1, ...Array<number>(15).fill(0), 0]);
  const refinements = Array.from({ length: scans - 1 }, (_, index) => {
    const coefficient = 1 + Math.floor(index / 14);
    const bit = 13 - (index % 14);
    const before = bit === 13 ? 0 : bit + 1;
    return Buffer.concat([segment(0xda, [1, 1, 0, coefficient, coefficient, before * 16 + bit]), nothing]);
  });
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, [0, ...Array<number>(64).fill(16)]),
    segment(0xc2, frame),
    table(0),
    table(0x10),
    segment(0xda, [1, 1, 0, 0, 0, 0]),
    nothing,
    ...refinements,
    Buffer.from([0xff, 0xd9]),
  ]);
};

/** A JPEG with segments after its first two bytes. */
export const withSegments = (jpeg: Buffer, marker: number, contents: readonly Uint8Array[]): Buffer =>
  Buffer.concat([
    jpeg.subarray(0, 2),
    ...contents.map((content) => segment(marker, content)),
    jpeg.subarray(2),
  ]);

const segment = (marker: number, content: Uint8Array | readonly number[]): Buffer =>
  Buffer.concat([
    Buffer.from([0xff, marker, (content.length + 2) >> 8, (content.length + 2) & 0xff]),
    Uint8Array.from(content),
  ]);

/** A small PNG with so many chunks of a type and content before its pixels. */
export const withChunks = (type: string, data: Buffer, count: number): Buffer => {
  const picture = makeBomb(60, 40);
  const afterHeader = 8 + 25;
  const added = chunk(type, data);
  return Buffer.concat([
    picture.subarray(0, afterHeader),
    ...Array<Buffer>(count).fill(added),
    picture.subarray(afterHeader),
  ]);
};

/** A WebP of one pixel, animated: `nested` frames of each lie inside it, after its picture, where lax readers find them. */
export const makeFrames = async (frames: number, nested = 0): Promise<Buffer> => {
  const picture = await sharp({ create: { width: 1, height: 1, channels: 3, background: '#000' } })
    .webp({ lossless: true })
    .toBuffer();
  const frame = (inside: readonly Buffer[]): Buffer =>
    riff('ANMF', Buffer.concat([Buffer.alloc(16), picture.subarray(12), ...inside]));
  const isAnimated = Buffer.alloc(10);
  isAnimated[0] = 2;
  const inner = Array<Buffer>(nested).fill(frame([]));
  return webpOf([
    riff('VP8X', isAnimated),
    riff('ANIM', Buffer.alloc(6)),
    ...Array<Buffer>(frames).fill(frame(inner)),
  ]);
};

/** A GIF with the picture of another one so many times, and extensions of a byte before it. */
export const repeatFrame = (gif: Buffer, frames: number, extensions = 0): Buffer => {
  const flags = gif[10] ?? 0;
  const head = 13 + ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));
  const comment = Buffer.from([0x21, 0xfe, 1, 65, 0]);
  return Buffer.concat([
    gif.subarray(0, head),
    ...Array<Buffer>(extensions).fill(comment),
    ...Array<Buffer>(frames).fill(gif.subarray(head, -1)),
    Buffer.from([0x3b]),
  ]);
};

/** A GIF that shows one colour after the other. */
export const makeAnimation = async (colours: readonly string[]): Promise<Buffer> => {
  const pictures = await Promise.all(colours.map((colour) => makeImage('png', { colour })));
  return sharp(pictures, { join: { animated: true } })
    .gif()
    .toBuffer();
};

/** A WebP with so many chunks of a byte after its picture. */
export const withRiffChunks = (webp: Buffer, count: number): Buffer =>
  webpOf([
    riff('VP8X', Buffer.from([0, 0, 0, 0, 47, 0, 0, 31, 0, 0])),
    webp.subarray(12),
    ...Array<Buffer>(count).fill(riff('eLSE', Buffer.alloc(1))),
  ]);

const webpOf = (chunks: readonly Buffer[]): Buffer =>
  riff('RIFF', Buffer.concat([Buffer.from('WEBP'), ...chunks]));

const riff = (type: string, data: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
};

export const dataUri = (contentType: string, bytes: Uint8Array): string =>
  `data:${contentType};base64,${Buffer.from(bytes).toString('base64')}`;

export const svg = Buffer.from(
  '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>',
);
