import { textAt } from '../image/input-image-type.ts';

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
