import { inputImageType } from '../content-type.ts';

type Part = 'scan' | 'text' | 'frame' | 'excess' | 'other';

const limits: Record<Part, number> = {
  /** Progressive photographs have 10 to 14. Reading a scan takes time by the image's pixels, not by its bytes. */
  scan: 100,
  /** The decoder unpacks each of these texts, to 8 MB at most, before the pixels. */
  text: 32,
  /** Reading the header of an animation takes time by the square of its frames. */
  frame: 1_000,
  /** A list that is longer by itself. */
  excess: 0,
  other: Infinity,
};
/** Segments or chunks of any kind before the end of the pixels. A frame has three at most. */
const maxParts = 4_000;

/**
 * Tells whether an image has more scans, texts, frames, chunks or boxes than an honest one, so that reading it takes time
 * and memory out of proportion to its size. Reads each byte at most once. Returns false for other files and for broken
 * ones, which the decoder refuses.
 */
export const hasTooManyParts = (image: Uint8Array): boolean => {
  const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength);
  const counts: Record<Part, number> = { scan: 0, text: 0, frame: 0, excess: 0, other: 0 };
  let parts = 0;
  for (const part of partsOf[inputImageType(bytes) ?? '']?.(bytes) ?? []) {
    counts[part] += 1;
    parts += 1;
    if (counts[part] > limits[part] || parts > maxParts) return true;
  }
  return false;
};

const endOfImage = 0xd9;
const startOfScan = 0xda;

/** ITU-T T.81, annex B: segments, and between them the bytes of scans, in which only 0 or a restart follows 0xff. */
const jpegParts = function* (bytes: Buffer): Generator<Part> {
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
    if (marker === endOfImage) return;
    yield marker === startOfScan ? 'scan' : 'other';
    at += byteAt(bytes, at) * 2 ** 8 + byteAt(bytes, at + 1);
  }
};

/** Excludes fill bytes, restarts and a second start of image, which have no length. */
const beginsSegment = (marker: number): boolean =>
  marker >= 0xc0 && marker !== 0xff && !(marker >= 0xd0 && marker <= 0xd8);

/** PNG, third edition, section 5: chunks. Chunks after the pixels are not read. */
const pngParts = function* (bytes: Buffer): Generator<Part> {
  for (let at = 8; at + 8 <= bytes.length;) {
    const type = nameAt(bytes, at + 4);
    if (type === 'IDAT') return;
    yield type === 'zTXt' || type === 'iTXt' ? 'text' : 'other';
    at += 12 + bytes.readUInt32BE(at);
  }
};

/** RFC 9649, section 2: chunks of even length. A frame (ANMF) has a header of 16 bytes and then chunks. */
const webpParts = function* (bytes: Buffer): Generator<Part> {
  for (let at = 12; at + 8 <= bytes.length;) {
    const isFrame = nameAt(bytes, at) === 'ANMF';
    yield isFrame ? 'frame' : 'other';
    const length = bytes.readUInt32LE(at + 4);
    at += 8 + (isFrame ? 16 : length + (length % 2));
  }
};

const imageSeparator = 0x2c;
const extensionIntroducer = 0x21;

/** GIF89a, sections 17 to 27: frames and extensions, each of which ends with sub-blocks. */
const gifParts = function* (bytes: Buffer): Generator<Part> {
  let at = 13 + colourTableBytes(byteAt(bytes, 10));
  while (at < bytes.length) {
    const introducer = byteAt(bytes, at);
    if (introducer !== imageSeparator && introducer !== extensionIntroducer) return;
    yield introducer === imageSeparator ? 'frame' : 'other';
    at += introducer === imageSeparator ? 11 + colourTableBytes(byteAt(bytes, at + 9)) : 2;
    while (byteAt(bytes, at) > 0) at += 1 + byteAt(bytes, at);
    at += 1;
  }
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
const avifParts = function* (bytes: Buffer): Generator<Part> {
  const open = [{ at: 0, end: bytes.length }];
  for (let box = open.pop(); box !== undefined; box = open.pop()) {
    const { at, end } = box;
    if (at + 8 > end) continue;
    const size = bytes.readUInt32BE(at);
    const type = nameAt(bytes, at + 4);
    const next = size === 0 ? end : at + size;
    yield 'other';
    // A size of 64 bits is for media, which are not read.
    if (size !== 0 && size < 8) continue;
    const from = at + 8;
    const to = Math.min(next, end);
    if (countIn(bytes, type, { from, to }) > limits.frame) yield 'excess';
    open.push({ at: next, end });
    const skipped = avifContainers.get(type);
    if (skipped !== undefined) open.push({ at: from + skipped, end: to });
  }
};

const partsOf: Record<string, (bytes: Buffer) => Iterable<Part>> = {
  'image/jpeg': jpegParts,
  'image/png': pngParts,
  'image/webp': webpParts,
  'image/gif': gifParts,
  'image/avif': avifParts,
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
