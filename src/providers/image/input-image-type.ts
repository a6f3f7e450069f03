import { imageContentType } from './image-content-type.ts';

/** The type of an image that a caller may send, by its first bytes; null for what is neither PNG, JPEG, WebP, GIF nor AVIF. */
export const inputImageType = (bytes: Uint8Array): string | null => {
  const usual = imageContentType(bytes);
  if (usual !== null) return usual;
  if (/^GIF8[79]a/.test(textAt(bytes, 0, 6))) return 'image/gif';
  return isAvif(bytes) ? 'image/avif' : null;
};

/** Whether these are the first bytes of an image that callers may send and upstreams do not take: it goes on as another type. */
export const isConverted = (bytes: Uint8Array): boolean =>
  inputImageType(bytes) !== null && imageContentType(bytes) === null;

const mostBrands = 64;

/** ISO/IEC 14496-12, section 4.3: the first box names the brands. AVIF is AV1 in it; HEIC, which is alike, has others. */
const isAvif = (bytes: Uint8Array): boolean => {
  if (bytes.length < 16 || textAt(bytes, 4, 8) !== 'ftyp') return false;
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const end = Math.min(size, bytes.length, 16 + 4 * mostBrands);
  for (let at = 8; at + 4 <= end; at += 4)
    // Between the main brand and the others stands a version.
    if (at !== 12 && /^avi[fs]$/.test(textAt(bytes, at, at + 4))) return true;
  return false;
};

const textAt = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, to));
