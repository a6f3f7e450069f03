import { textAt } from './text-at.ts';

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
