import { createHash } from 'node:crypto';
import type { PictureSize } from './picture-size.ts';
import { badge, captionBand, captionText, n, shade } from './svg-text.ts';

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
    opening({ width, height }),
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

/** Draws the overlay of an edit as transparent SVG: a tint and a frame in colours of the seed, and the caption. */
export const drawOverlay = ({ width, height, caption, seed }: PictureRequest): string => {
  const { sky, hills, sun } = pickPalette(seededRandom(seed)());
  const stroke = Math.min(width, height) * 0.025;
  return [
    opening({ width, height }),
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

/** Draws the mark of a picture alone, on a transparent ground. */
export const drawMark = ({ width, height }: PictureRequest): string =>
  [opening({ width, height }), badge({ width, height, text: 'SANDBOX', opacity: 0.45 }), '</svg>'].join('');

const opening = ({ width, height }: PictureSize): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;

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

/** Sky from top to bottom, three layers of hills, the sun. Only hex, because the renderer reads fractional hsl() as black. */
const palettes = [
  { sky: ['#1b2a49', '#465c8b', '#f0a07c'], hills: ['#3d4f7c', '#2b3a63', '#182344'], sun: '#ffd9a0' },
  { sky: ['#0f3d3e', '#2c7873', '#e2d58b'], hills: ['#2f8577', '#1f6160', '#0d3b40'], sun: '#fff3c4' },
  { sky: ['#3b1c4a', '#8a3f78', '#ffb199'], hills: ['#7b3a72', '#562a5c', '#311640'], sun: '#ffe0c2' },
  { sky: ['#12305c', '#3a7ca5', '#d9e8e3'], hills: ['#4a86a3', '#2d6187', '#163a60'], sun: '#ffffff' },
  { sky: ['#4a1d1f', '#b0503c', '#f7c873'], hills: ['#a0493a', '#73302e', '#401a20'], sun: '#fff0b8' },
  { sky: ['#20264d', '#5a5aa6', '#c9b6e4'], hills: ['#6461ab', '#454487', '#262a5c'], sun: '#f8efff' },
] as const;

type Palette = (typeof palettes)[number];

/** Picks a palette. `random` is from 0 to below 1. */
const pickPalette = (random: number): Palette =>
  palettes[Math.floor(random * palettes.length)] ?? palettes[0];

/** Returns a source of numbers from 0 to below 1 that depend on the seed alone: successive hashes, four bytes each. */
const seededRandom = (seed: string): Random => {
  let block = createHash('sha256').update(seed).digest();
  let position = 0;
  return () => {
    if (position === block.length) {
      block = createHash('sha256').update(block).digest();
      position = 0;
    }
    position += 4;
    return block.readUInt32BE(position - 4) / 2 ** 32;
  };
};
