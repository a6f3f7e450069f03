import { pickPalette } from './palettes.ts';
import type { PictureSize } from './picture-size.ts';
import { seededRandom } from './seeded-random.ts';
import { badge, captionText, n, shade } from './svg-text.ts';

export interface PictureRequest extends PictureSize {
  /** Short text. Longer prompts are cut before. */
  caption: string;
  /** The text that decides shapes and colours. */
  seed: string;
}

/** Draws a landscape as SVG with the caption on it. The same request draws the same picture. */
export const drawPicture = ({ width, height, caption, seed }: PictureRequest): string => {
  const random = seededRandom(seed);
  const palette = pickPalette(random());
  const [top, middle, bottom] = palette.sky;
  const sunX = width * (0.2 + 0.6 * random());
  const sunY = height * (0.22 + 0.16 * random());
  const sunRadius = Math.min(width, height) * (0.07 + 0.05 * random());
  const hills = palette.hills.map((colour, layer) => hill({ width, height, layer, colour, random }));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    '<defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">',
    `<stop offset="0" stop-color="${top}"/><stop offset="0.5" stop-color="${middle}"/><stop offset="1" stop-color="${bottom}"/>`,
    '</linearGradient><radialGradient id="glow">',
    `<stop offset="0" stop-color="${palette.sun}" stop-opacity="0.55"/><stop offset="1" stop-color="${palette.sun}" stop-opacity="0"/>`,
    '</radialGradient></defs>',
    `<rect width="${width}" height="${height}" fill="url(#sky)"/>`,
    stars({ width, height, random }),
    circle(sunX, sunY, sunRadius * 3.6, 'url(#glow)'),
    circle(sunX, sunY, sunRadius, palette.sun),
    ...hills,
    shade({ width, height }),
    captionText({ width, height, caption }),
    badge({ width, height, text: 'SANDBOX', opacity: 0.45 }),
    '</svg>',
  ].join('');
};

type Random = () => number;

interface Drawing extends PictureSize {
  random: Random;
}

const stars = ({ width, height, random }: Drawing): string =>
  Array.from({ length: 60 }, () =>
    circle(
      width * random(),
      height * 0.45 * random(),
      0.6 + 1.2 * random(),
      '#ffffff',
      0.15 + 0.5 * random(),
    ),
  ).join('');

/** Draws a range of hills as a sum of waves. Nearer layers are lower and darker. */
const hill = (options: Drawing & { layer: number; colour: string }): string => {
  const { width, height, layer, colour, random } = options;
  const base = height * (0.55 + 0.14 * layer);
  const waves = [1, 2, 3].map((octave) => ({
    length: (octave * (1.2 + random()) * Math.PI * 2) / width,
    height: (Math.min(width, height) * (0.1 - 0.015 * layer)) / octave,
    phase: random() * Math.PI * 2,
  }));
  const heightAt = (x: number): number =>
    base + waves.reduce((sum, wave) => sum + wave.height * Math.sin(x * wave.length + wave.phase), 0);
  const points = Array.from({ length: 161 }, (_, index) => {
    const x = (width * index) / 160;
    return `${n(x)} ${n(heightAt(x))}`;
  });
  return `<path d="M0 ${height} L${points.join(' L')} L${width} ${height} Z" fill="${colour}"/>`;
};

const circle = (x: number, y: number, radius: number, fill: string, opacity = 1): string =>
  `<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}" fill="${fill}" fill-opacity="${n(opacity)}"/>`;
