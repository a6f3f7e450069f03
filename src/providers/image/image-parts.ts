import { inputImageType } from './input-image-type.ts';

/** Progressive photographs have 10 to 14. Reading a scan takes time by the image's pixels, not by its bytes. */
const maxScans = 100;
/** The decoder unpacks each of these texts, to 8 MB at most, before the pixels. */
const maxPackedTexts = 32;
/** Reading the header of an animation takes time by the square of its frames. */
const maxFrames = 1_000;
/** Segments or chunks of any kind before the end of the pixels. A frame has three at most. */
const maxParts = 4_000;

/**
 * Tells whether an image has more scans, texts, frames, chunks or boxes than an honest one, so that reading it takes time
 * and memory out of proportion to its size. Reads each byte at most once. Returns false for other files and for broken
 * ones, which the decoder refuses.
 */
export const hasTooManyParts = (image: Uint8Array): boolean => {
  const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength);
  switch (inputImageType(bytes)) {
    case 'image/jpeg':
      return jpegHasTooManyParts(bytes);
    case 'image/png':
      return pngHasTooManyParts(bytes);
    case 'image/webp':
      return webpHasTooManyParts(bytes);
    case 'image/gif':
      return gifHasTooManyParts(bytes);
    case 'image/avif':
      return avifHasTooManyParts(bytes);
    default:
      return false;
  }
};

const endOfImage = 0xd9;
const startOfScan = 0xda;

/** ITU-T T.81, annex B: segments, and between them the bytes of scans, in which only 0 or a restart follows 0xff. */
const jpegHasTooManyParts = (bytes: Buffer): boolean => {
  let scans = 0;
  let parts = 0;
  let at = 2;
  while (at + 1 < bytes.length) {
    if (bytes[at] !== 0xff) {
      at += 1;
      continue;
    }
    const marker = byteAt(bytes, at + 1);
    // Any number of 0xff may come before a marker.
    at += marker === 0xff ? 1 : 2;
    if (!beginsSegment(marker)) continue;
    if (marker === endOfImage) return false;
    parts += 1;
    if (marker === startOfScan) scans += 1;
    if (scans > maxScans || parts > maxParts) return true;
    at += byteAt(bytes, at) * 2 ** 8 + byteAt(bytes, at + 1);
  }
  return false;
};

/** Excludes fill bytes, restarts and a second start of image, which have no length. */
const beginsSegment = (marker: number): boolean =>
  marker >= 0xc0 && marker !== 0xff && !(marker >= 0xd0 && marker <= 0xd8);

/** PNG, third edition, section 5: chunks. Chunks after the pixels are not read. */
const pngHasTooManyParts = (bytes: Buffer): boolean => {
  let texts = 0;
  let parts = 0;
  for (let at = 8; at + 8 <= bytes.length;) {
    const type = nameAt(bytes, at + 4);
    if (type === 'IDAT') return false;
    parts += 1;
    if (type === 'zTXt' || type === 'iTXt') texts += 1;
    if (texts > maxPackedTexts || parts > maxParts) return true;
    at += 12 + bytes.readUInt32BE(at);
  }
  return false;
};

/** RFC 9649, section 2: chunks of even length. A frame (ANMF) has a header of 16 bytes and then chunks. */
const webpHasTooManyParts = (bytes: Buffer): boolean => {
  let frames = 0;
  let parts = 0;
  for (let at = 12; at + 8 <= bytes.length;) {
    const isFrame = nameAt(bytes, at) === 'ANMF';
    parts += 1;
    if (isFrame) frames += 1;
    if (frames > maxFrames || parts > maxParts) return true;
    const length = bytes.readUInt32LE(at + 4);
    at += 8 + (isFrame ? 16 : length + (length % 2));
  }
  return false;
};

const imageSeparator = 0x2c;
const extensionIntroducer = 0x21;

/** GIF89a, sections 17 to 27: frames and extensions, each of which ends with sub-blocks. */
const gifHasTooManyParts = (bytes: Buffer): boolean => {
  let frames = 0;
  let parts = 0;
  let at = 13 + colourTableBytes(byteAt(bytes, 10));
  while (at < bytes.length) {
    const introducer = byteAt(bytes, at);
    if (introducer !== imageSeparator && introducer !== extensionIntroducer) return false;
    parts += 1;
    if (introducer === imageSeparator) frames += 1;
    if (frames > maxFrames || parts > maxParts) return true;
    at += introducer === imageSeparator ? 11 + colourTableBytes(byteAt(bytes, at + 9)) : 2;
    while (byteAt(bytes, at) > 0) at += 1 + byteAt(bytes, at);
    at += 1;
  }
  return false;
};

/** Reads the size of a colour table from the byte of flags before it. */
const colourTableBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/** Boxes that contain boxes, with the number of bytes before these. */
const avifContainers = new Map([
  ...['iprp', 'ipco', 'moov', 'trak', 'mdia', 'minf', 'stbl', 'edts', 'dinf', 'grpl'].map(
    (name) => [name, 0] as const,
  ),
  ...['meta', 'iref'].map((name) => [name, 4] as const),
]);

/** ISO/IEC 14496-12: boxes. Lists of items or samples have a count. */
const avifHasTooManyParts = (bytes: Buffer): boolean => {
  let parts = 0;
  const walk = (start: number, end: number): boolean => {
    for (let at = start; at + 8 <= end;) {
      const size = bytes.readUInt32BE(at);
      const type = nameAt(bytes, at + 4);
      const next = size === 0 ? end : at + size;
      parts += 1;
      if (parts > maxParts) return true;
      // A size of 64 bits is for media, which are not read.
      if (size !== 0 && size < 8) return false;
      const from = at + 8;
      if (countIn(bytes, type, { from, to: Math.min(next, end) }) > maxFrames) return true;
      const skipped = avifContainers.get(type);
      if (skipped !== undefined && walk(from + skipped, Math.min(next, end))) return true;
      at = next;
    }
    return false;
  };
  return walk(0, bytes.length);
};

/** Returns the count of a list of items or samples; 0 for any other box. */
const countIn = (bytes: Buffer, type: string, { from, to }: { from: number; to: number }): number => {
  const place = { stsz: 8, stts: 4, stsc: 4, stco: 4, iinf: 4, iloc: 6 }[type];
  if (place === undefined || from + place + 4 > to) return 0;
  const version = bytes.readUInt8(from);
  if (type === 'iinf' && version === 0) return bytes.readUInt16BE(from + place);
  if (type === 'iloc' && version < 2) return bytes.readUInt16BE(from + place);
  return bytes.readUInt32BE(from + place);
};

const byteAt = (bytes: Buffer, index: number): number => bytes[index] ?? 0;

const nameAt = (bytes: Buffer, at: number): string => bytes.toString('latin1', at, at + 4);
