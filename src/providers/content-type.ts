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
  const head = textAt(bytes, 0, 12);
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  return head.startsWith('RIFF') && head.endsWith('WEBP') ? 'image/webp' : null;
};

/** Returns bytes as text, one character each; shorter at the end of the bytes. */
const textAt = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end));

/** Brands of pictures and sounds in MP4's container. */
const otherBrands = /^(?:avif|avis|heic|heix|heim|heis|hevc|hevx|mif1|msf1|miaf|M4A |M4B |M4P |crx )/;

/** First atoms of QuickTime files that are older than `ftyp`. */
const oldQuickTime = new Set(['moov', 'mdat', 'wide', 'pnot']);

/** Returns the type of a video by its first 12 bytes: `video/mp4` or `video/quicktime`; null for anything else. */
export const videoContentType = (bytes: Uint8Array): string | null => {
  const atom = textAt(bytes, 4, 8);
  if (oldQuickTime.has(atom)) return 'video/quicktime';
  if (atom !== 'ftyp') return null;
  const brand = textAt(bytes, 8, 12);
  if (brand === 'qt  ') return 'video/quicktime';
  return brand.length < 4 || otherBrands.test(brand) ? null : 'video/mp4';
};

/** Returns the type of a sound by its first 12 bytes: `audio/wav` or `audio/mpeg` (MP3); null for anything else. */
export const audioContentType = (bytes: Uint8Array): string | null => {
  if (textAt(bytes, 0, 4) === 'RIFF') return textAt(bytes, 8, 12) === 'WAVE' ? 'audio/wav' : null;
  return textAt(bytes, 0, 3) === 'ID3' || isMp3Frame(bytes) ? 'audio/mpeg' : null;
};

/** Checks the header of an MPEG audio frame of layer III: the sync word, and no reserved value in any field. */
const isMp3Frame = ([first = 0, second = 0, third = 0]: Uint8Array): boolean => {
  const hasSync = first === 0xff && (second & 0xe0) === 0xe0;
  const version = (second >> 3) & 3;
  const layer = (second >> 1) & 3;
  const bitrate = third >> 4;
  const sampleRate = (third >> 2) & 3;
  return hasSync && version !== 1 && layer === 1 && bitrate !== 0 && bitrate !== 15 && sampleRate !== 3;
};
