/** Returns the type of an image by its first bytes; null unless it is PNG, JPEG, WebP, GIF or AVIF. */
export const inputImageType = (bytes: Uint8Array): string | null => {
  const usual = imageContentType(bytes);
  if (usual !== null) return usual;
  if (/^GIF8[79]a/.test(textAt(bytes, 0, 6))) return 'image/gif';
  return isAvif(bytes) ? 'image/avif' : null;
};

/** Tells whether an image is converted for upstreams: callers may send GIF and AVIF, but no upstream takes them. */
export const isConverted = (bytes: Uint8Array): boolean =>
  inputImageType(bytes) !== null && imageContentType(bytes) === null;

const maxBrands = 64;

/** ISO/IEC 14496-12, section 4.3: the first box lists the brands. Those of AVIF differ from those of HEIC. */
const isAvif = (bytes: Uint8Array): boolean => {
  if (bytes.length < 16 || textAt(bytes, 4, 8) !== 'ftyp') return false;
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const end = Math.min(size, bytes.length, 16 + 4 * maxBrands);
  for (let at = 8; at + 4 <= end; at += 4)
    // Bytes 12 to 15 are a version.
    if (at !== 12 && /^avi[fs]$/.test(textAt(bytes, at, at + 4))) return true;
  return false;
};

/** Returns the type of an image by its first bytes; null unless it is PNG, JPEG or WebP. */
export const imageContentType = (bytes: Uint8Array): string | null => {
  if (startsWith(bytes, 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'image/png';
  if (startsWith(bytes, 0, [0xff, 0xd8, 0xff])) return 'image/jpeg';
  const isRiff = startsWith(bytes, 0, [0x52, 0x49, 0x46, 0x46]);
  return isRiff && startsWith(bytes, 8, [0x57, 0x45, 0x42, 0x50]) ? 'image/webp' : null;
};

const startsWith = (bytes: Uint8Array, offset: number, magic: readonly number[]): boolean =>
  magic.every((byte, index) => bytes[offset + index] === byte);

/** Returns bytes as text, one character each; shorter at the end of the bytes. */
export const textAt = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end));
