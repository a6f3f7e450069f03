import type { PictureRequest } from './draw-picture.ts';
import { pickPalette } from './palettes.ts';
import { seededRandom } from './seeded-random.ts';
import { badge, captionBand, n } from './svg-text.ts';

/** Draws the overlay of an edit as transparent SVG: a tint and a frame in colours of the seed, and the caption. */
export const drawOverlay = ({ width, height, caption, seed }: PictureRequest): string => {
  const { sky, hills, sun } = pickPalette(seededRandom(seed)());
  const stroke = Math.min(width, height) * 0.025;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    '<linearGradient id="tint" x1="0" y1="0" x2="1" y2="1">',
    `<stop offset="0" stop-color="${sky[2]}" stop-opacity="0.4"/>`,
    `<stop offset="0.5" stop-color="${sky[1]}" stop-opacity="0.3"/>`,
    `<stop offset="1" stop-color="${hills[2]}" stop-opacity="0.45"/></linearGradient>`,
    `<rect width="${width}" height="${height}" fill="url(#tint)"/>`,
    captionBand({ width, height, caption, fill: hills[2] }),
    `<rect x="${n(stroke / 2)}" y="${n(stroke / 2)}" width="${n(width - stroke)}" height="${n(height - stroke)}" ` +
      `fill="none" stroke="${sun}" stroke-width="${n(stroke)}"/>`,
    badge({ width, height, text: 'SANDBOX EDIT', opacity: 1 }),
    '</svg>',
  ].join('');
};
