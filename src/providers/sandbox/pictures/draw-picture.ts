import { createHash } from 'node:crypto';
import type { PictureSize } from './picture-size.ts';
import { layOutCaption } from './lay-out-caption.ts';

export interface PictureRequest extends PictureSize {
  /** Short text; longer prompts are cut before. */
  caption: string;
  /** What the shapes and colours come from. */
  seed: string;
}

/** The font file's own family name. */
export const fontFamily = 'Open Sans';

/** Background from top to bottom, three layers of hills, the sun. Hex only: the renderer reads fractional hsl() as black. */
const palettes = [
  { sky: ['#1b2a49', '#465c8b', '#f0a07c'], hills: ['#3d4f7c', '#2b3a63', '#182344'], sun: '#ffd9a0' },
  { sky: ['#0f3d3e', '#2c7873', '#e2d58b'], hills: ['#2f8577', '#1f6160', '#0d3b40'], sun: '#fff3c4' },
  { sky: ['#3b1c4a', '#8a3f78', '#ffb199'], hills: ['#7b3a72', '#562a5c', '#311640'], sun: '#ffe0c2' },
  { sky: ['#12305c', '#3a7ca5', '#d9e8e3'], hills: ['#4a86a3', '#2d6187', '#163a60'], sun: '#ffffff' },
  { sky: ['#4a1d1f', '#b0503c', '#f7c873'], hills: ['#a0493a', '#73302e', '#401a20'], sun: '#fff0b8' },
  { sky: ['#20264d', '#5a5aa6', '#c9b6e4'], hills: ['#6461ab', '#454487', '#262a5c'], sun: '#f8efff' },
] as const;

/** An SVG landscape with the caption on it; the same request draws the same picture. */
export const drawPicture = ({ width, height, caption, seed }: PictureRequest): string => {
  const random = seededRandom(seed);
  const palette = palettes[Math.floor(random() * palettes.length)] ?? palettes[0];
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
    '</radialGradient><linearGradient id="shade" x1="0" y1="0" x2="0" y2="1">',
    '<stop offset="0" stop-color="#000000" stop-opacity="0"/><stop offset="1" stop-color="#000000" stop-opacity="0.5"/>',
    '</linearGradient></defs>',
    `<rect width="${width}" height="${height}" fill="url(#sky)"/>`,
    stars({ width, height, random }),
    circle(sunX, sunY, sunRadius * 3.6, 'url(#glow)'),
    circle(sunX, sunY, sunRadius, palette.sun),
    ...hills,
    `<rect y="${n(height * 0.45)}" width="${width}" height="${n(height * 0.55)}" fill="url(#shade)"/>`,
    captionText({ width, height, caption }),
    sandboxMark({ width, height }),
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

/** One range of hills: a few waves added up, nearer layers lower and darker. */
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

const captionText = ({ width, height, caption }: PictureSize & { caption: string }): string => {
  const margin = Math.round(Math.min(width, height) * 0.06);
  const { fontSize, lines } = layOutCaption(caption, { width: width - 2 * margin, height: height * 0.38 });
  const lineHeight = fontSize * 1.3;
  const firstBaseline = height - margin - (lines.length - 1) * lineHeight;
  return lines
    .map(
      (line, index) =>
        `<text x="${margin}" y="${n(firstBaseline + index * lineHeight)}" font-family="${fontFamily}" font-weight="600" ` +
        `font-size="${fontSize}" fill="#ffffff">${escapeXml(line)}</text>`,
    )
    .join('');
};

const sandboxMark = ({ width, height }: PictureSize): string => {
  const unit = Math.min(width, height) / 100;
  const x = n(5 * unit);
  const y = n(5 * unit);
  return (
    `<rect x="${x}" y="${y}" width="${n(19 * unit)}" height="${n(5.4 * unit)}" rx="${n(2.7 * unit)}" fill="#000000" fill-opacity="0.45"/>` +
    `<text x="${n(14.5 * unit)}" y="${n(8.7 * unit)}" text-anchor="middle" font-family="${fontFamily}" font-weight="600" ` +
    `font-size="${n(2.7 * unit)}" letter-spacing="${n(0.35 * unit)}" fill="#ffffff">SANDBOX</text>`
  );
};

const circle = (x: number, y: number, radius: number, fill: string, opacity = 1): string =>
  `<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}" fill="${fill}" fill-opacity="${n(opacity)}"/>`;

/** A coordinate, short. */
const n = (value: number): string => String(Math.round(value * 100) / 100);

const escapeXml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Numbers from 0 up to 1 that depend on the seed alone: successive hashes, four bytes each. */
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
