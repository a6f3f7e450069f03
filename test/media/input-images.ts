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

export const dataUri = (contentType: string, bytes: Uint8Array): string =>
  `data:${contentType};base64,${Buffer.from(bytes).toString('base64')}`;

export const svg = Buffer.from(
  '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>',
);
