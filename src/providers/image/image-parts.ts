import { inputImageType } from '../content-type.ts';

/** A decoded image of this size takes 200 to 400 MB. No upstream takes a larger one. */
export const maxPixels = 50_000_000;

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

/**
 * Places of properties and of bytes are those in the one box. The bound of a list is that of one box: an image may have an
 * `ipma` of each version, with long or short places, and hardly a second `iloc`.
 */
const mostBoxes = new Map([
  ['ipco', 1],
  ['idat', 1],
  ['ipma', 4],
  ['iloc', 4],
]);

/** The largest image has as many in its canvas and in its tiles, in both again for transparency, and margins. */
const maxDecodedPixels = 5 * maxPixels;

/** Items of an AVIF, by their ids. */
interface AvifItems {
  /** Pixels by place in `ipco`; 0 for a property that is no size. */
  sizes: number[];
  /** The places of an item's properties, from 1. */
  properties: Map<number, number[]>;
  /** Items that are decoded with an item: its tiles, and its transparency. */
  parts: Map<number, number[]>;
  /** Where an item's bytes are, in the file or in `idat`. */
  extents: Map<number, Extent[]>;
  /** Where the bytes of `idat` begin. */
  dataAt: number;
}

/** The pieces of an item. A picture in layers has four. */
const maxExtents = 16;

interface Extent {
  isInData: boolean;
  at: number;
  length: number;
}

/** ISO/IEC 14496-12 and 23008-12: boxes. Lists of items or samples have a count. */
const avifParts = function* (bytes: Buffer): Generator<Part> {
  const items: AvifItems = {
    sizes: [],
    properties: new Map(),
    parts: new Map(),
    extents: new Map(),
    dataAt: 0,
  };
  const seen = new Map<string, number>();
  const open = [{ at: 0, end: bytes.length, parent: '', version: 0 }];
  for (let box = open.pop(); box !== undefined; box = open.pop()) {
    const { at, end, parent, version } = box;
    if (at + 8 > end) continue;
    const short = bytes.readUInt32BE(at);
    const type = nameAt(bytes, at + 4);
    const from = at + (short === 1 ? 16 : 8);
    const next = short === 0 ? end : at + (short === 1 ? numberAt(bytes, at + 8, 8) : short);
    yield 'other';
    if (next < from) continue;
    const to = Math.min(next, end);
    if (countIn(bytes, type, { from, to }) > limits.frame) yield 'excess';
    // An overlay has a canvas of any size, whatever its `ispe` says. Encoders write none.
    if (type === 'iinf' && bytes.subarray(from, to).includes('iovl')) yield 'excess';
    const times = (seen.get(type) ?? 0) + 1;
    seen.set(type, times);
    if (times > (mostBoxes.get(type) ?? Infinity)) yield 'excess';
    if (parent === 'ipco')
      items.sizes.push(type === 'ispe' ? numberAt(bytes, from + 4, 4) * numberAt(bytes, from + 8, 4) : 0);
    if (type === 'ipma') readProperties(bytes, { from, to }, items);
    if (type === 'iloc' && !readExtents(bytes, { from, to }, items)) yield 'excess';
    if (type === 'idat') items.dataAt = from;
    if (type === 'dimg' || type === 'auxl') {
      const idBytes = version === 0 ? 2 : 4;
      for (let part = from + idBytes + 2; part < to; part += idBytes) {
        yield 'frame';
        const ids = [numberAt(bytes, from, idBytes), numberAt(bytes, part, idBytes)] as const;
        // Transparency names its picture, and a grid its tiles.
        if (type === 'dimg') append(items.parts, ids[0], ids[1]);
        else append(items.parts, ids[1], ids[0]);
      }
    }
    open.push({ ...box, at: next });
    const skipped = avifContainers.get(type);
    if (skipped !== undefined)
      open.push({ at: from + skipped, end: to, parent: type, version: byteAt(bytes, from) });
  }
  // The header of an image tells the size of its canvas, and only what remains after a crop.
  const isWhole = items.parts.size === 0 && !seen.has('clap');
  if (!isWhole && Math.max(0, ...items.sizes) > maxPixels) yield 'excess';
  const frames = yield* countFrames(bytes, items);
  if (mostPixels(items, frames) > maxDecodedPixels) yield 'excess';
};

const partsOf: Record<string, (bytes: Buffer) => Iterable<Part>> = {
  'image/jpeg': jpegParts,
  'image/png': pngParts,
  'image/webp': webpParts,
  'image/gif': gifParts,
  'image/avif': avifParts,
};

/** Returns the count of a list of items or samples; 0 for any other box. */
const countIn = (bytes: Buffer, type: string, { from, to }: Span): number => {
  const place = { stsz: 8, stts: 4, stsc: 4, stco: 4, iinf: 4, ipma: 4, iloc: 6 }[type];
  if (place === undefined || from + place + 4 > to) return 0;
  const version = bytes.readUInt8(from);
  if (type === 'iinf' && version === 0) return bytes.readUInt16BE(from + place);
  if (type === 'iloc' && version < 2) return bytes.readUInt16BE(from + place);
  return bytes.readUInt32BE(from + place);
};

interface Span {
  from: number;
  to: number;
}

/** Reads `ipma`: which properties an item has. */
const readProperties = (bytes: Buffer, { from, to }: Span, { properties }: AvifItems): void => {
  const idBytes = byteAt(bytes, from) === 0 ? 2 : 4;
  const placeBytes = (byteAt(bytes, from + 3) & 1) === 1 ? 2 : 1;
  let at = from + 8;
  for (let left = numberAt(bytes, from + 4, 4); left > 0 && at < to; left -= 1) {
    const id = numberAt(bytes, at, idBytes);
    const count = byteAt(bytes, at + idBytes);
    at += idBytes + 1;
    // The highest bit says that the property is essential.
    for (const last = at + count * placeBytes; at < last; at += placeBytes)
      append(properties, id, numberAt(bytes, at, placeBytes) % 2 ** (8 * placeBytes - 1));
  }
};

/** Reads `iloc`: where the bytes of an item are. Returns false where an item is in many pieces, or in other items. */
const readExtents = (bytes: Buffer, { from, to }: Span, { extents }: AvifItems): boolean => {
  const version = byteAt(bytes, from);
  const [offsetBytes, lengthBytes] = [byteAt(bytes, from + 4) >> 4, byteAt(bytes, from + 4) & 15];
  const [baseBytes, indexBytes] = [
    byteAt(bytes, from + 5) >> 4,
    version > 0 ? byteAt(bytes, from + 5) & 15 : 0,
  ];
  const idBytes = version < 2 ? 2 : 4;
  let at = from + 6;
  const take = (length: number): number => {
    at += length;
    return numberAt(bytes, at - length, length);
  };
  for (let items = take(idBytes); items > 0 && at < to; items -= 1) {
    const id = take(idBytes);
    const method = version > 0 ? take(2) & 15 : 0;
    take(2);
    const base = take(baseBytes);
    let count = take(2);
    if (count > maxExtents || method > 1) return false;
    for (; count > 0; count -= 1) {
      take(indexBytes);
      append(extents, id, {
        isInData: method === 1,
        at: base + take(offsetBytes),
        length: take(lengthBytes),
      });
    }
  }
  return true;
};

/** Counts the frames of each picture: the decoder decodes all of them. Yields a part for each of their units. */
const countFrames = function* (bytes: Buffer, items: AvifItems): Generator<Part, Map<number, number>> {
  const frames = new Map<number, number>();
  let joinedBytes = 0;
  for (const [id, extents] of items.extents) {
    if (sizeOf(id, items) === 0) continue;
    const pieces = extents.map(({ isInData, at, length }) => {
      const start = at + (isInData ? items.dataAt : 0);
      return bytes.subarray(start, length === 0 ? undefined : start + length);
    });
    // An encoder writes each byte once, but for tiles that are alike.
    if (pieces.length > 1) joinedBytes += pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (joinedBytes > bytes.length) yield 'excess';
    for (const isFrame of unitsOf(pieces.length === 1 ? (pieces[0] ?? bytes) : Buffer.concat(pieces))) {
      yield 'other';
      if (isFrame) frames.set(id, (frames.get(id) ?? 0) + 1);
    }
  }
  return frames;
};

/** Returns the pixels of an item; 0 for an item that is no picture. */
const sizeOf = (id: number, { sizes, properties }: AvifItems): number =>
  (properties.get(id) ?? []).reduce((most, place) => Math.max(most, sizes[place - 1] ?? 0), 0);

/** AV1, section 5.3: yields for each unit (OBU) whether it begins a frame. The decoder skips zeros between them. */
const unitsOf = function* (bytes: Buffer): Generator<boolean> {
  for (let at = 0; at < bytes.length;) {
    const header = byteAt(bytes, at);
    const type = (header >> 3) & 15;
    yield type === 3 || type === 6;
    at += 1;
    if (header === 0) continue;
    if ((header & 2) === 0) return;
    at += (header & 4) === 0 ? 0 : 1;
    let size = 0;
    for (let index = 0, isLast = false; index < 8 && !isLast; index += 1) {
      const byte = byteAt(bytes, at);
      size += (byte & 0x7f) * 2 ** (7 * index);
      isLast = byte < 0x80;
      at += 1;
    }
    at += size;
  }
};

/** Returns the most pixels that are decoded for an item; Infinity where an item contains itself. */
const mostPixels = (items: AvifItems, frames: Map<number, number>): number => {
  const known = new Map<number, number>();
  const pixelsOf = (id: number): number => {
    const found = known.get(id);
    if (found !== undefined) return found;
    known.set(id, Infinity);
    const own = sizeOf(id, items) * (frames.get(id) ?? 1);
    const pixels = (items.parts.get(id) ?? []).reduce((sum, part) => sum + pixelsOf(part), own);
    known.set(id, pixels);
    return pixels;
  };
  return Math.max(0, ...[...items.parts.keys(), ...frames.keys()].map(pixelsOf));
};

const append = <Value>(lists: Map<number, Value[]>, key: number, value: Value): void => {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
};

/** Reads a number of some bytes; 0 behind the end. */
const numberAt = (bytes: Buffer, at: number, length: number): number => {
  if (length === 0 || at + length > bytes.length) return 0;
  return length <= 6 ? bytes.readUIntBE(at, length) : Number(`0x${bytes.toString('hex', at, at + length)}`);
};

const byteAt = (bytes: Buffer, index: number): number => bytes[index] ?? 0;

const nameAt = (bytes: Buffer, at: number): string => bytes.toString('latin1', at, at + 4);
