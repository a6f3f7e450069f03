import { imageContentType } from './image-content-type.ts';

/** Progressive photographs have 10 to 14; reading a scan costs time by the image's pixels, however few bytes it has. */
const mostScans = 100;
/** The reader unpacks each of these texts, to 8 MB at most, before it looks at a pixel. */
const mostPackedTexts = 32;
/** Reading the header of an animation costs time by the square of its frames. */
const mostFrames = 1_000;
/** Segments or chunks of any kind that come before the pixels end; a frame has three at most. */
const mostParts = 4_000;

/**
 * Whether a PNG, JPEG or WebP is made of more scans, texts, frames or chunks than an honest one has, so that the time and
 * memory to read it have nothing to do with its size. Looks at each byte once at most; for anything else, and for broken
 * files, which are the decoder's to refuse, false.
 */
export const hasTooManyParts = (bytes: Uint8Array): boolean => {
  switch (imageContentType(bytes)) {
    case 'image/jpeg':
      return jpegHasTooManyParts(bytes);
    case 'image/png':
      return pngHasTooManyParts(bytes);
    case 'image/webp':
      return webpHasTooManyParts(bytes);
    default:
      return false;
  }
};

const endOfImage = 0xd9;
const startOfScan = 0xda;

/** ITU-T T.81, annex B: segments, and between them the bytes of scans, in which 0xff stands before 0 or a restart only. */
const jpegHasTooManyParts = (bytes: Uint8Array): boolean => {
  let scans = 0;
  let parts = 0;
  let at = 2;
  while (at + 1 < bytes.length) {
    if (bytes[at] !== 0xff) {
      at += 1;
      continue;
    }
    const marker = byteAt(bytes, at + 1);
    // Any number of 0xff may stand before a marker.
    at += marker === 0xff ? 1 : 2;
    if (!beginsSegment(marker)) continue;
    if (marker === endOfImage) return false;
    parts += 1;
    if (marker === startOfScan) scans += 1;
    if (scans > mostScans || parts > mostParts) return true;
    at += byteAt(bytes, at) * 2 ** 8 + byteAt(bytes, at + 1);
  }
  return false;
};

/** Neither fill nor restart nor a second start of image, which all stand alone. */
const beginsSegment = (marker: number): boolean =>
  marker >= 0xc0 && marker !== 0xff && !(marker >= 0xd0 && marker <= 0xd8);

/** PNG, third edition, section 5: chunks. What follows the pixels is not read. */
const pngHasTooManyParts = (bytes: Uint8Array): boolean => {
  const view = viewOf(bytes);
  let texts = 0;
  let parts = 0;
  for (let at = 8; at + 8 <= bytes.length;) {
    const type = fourCharacters(view, at + 4);
    if (type === 'IDAT') return false;
    parts += 1;
    if (type === 'zTXt' || type === 'iTXt') texts += 1;
    if (texts > mostPackedTexts || parts > mostParts) return true;
    at += 12 + view.getUint32(at);
  }
  return false;
};

/** RFC 9649, section 2: chunks of even length. A frame (ANMF) has 16 bytes of its own, and then chunks. */
const webpHasTooManyParts = (bytes: Uint8Array): boolean => {
  const view = viewOf(bytes);
  let frames = 0;
  let parts = 0;
  for (let at = 12; at + 8 <= bytes.length;) {
    const isFrame = fourCharacters(view, at) === 'ANMF';
    parts += 1;
    if (isFrame) frames += 1;
    if (frames > mostFrames || parts > mostParts) return true;
    const length = view.getUint32(at + 4, true);
    at += 8 + (isFrame ? 16 : length + (length % 2));
  }
  return false;
};

const byteAt = (bytes: Uint8Array, index: number): number => bytes[index] ?? 0;

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

const fourCharacters = (view: DataView, at: number): string =>
  String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(at + index)));
