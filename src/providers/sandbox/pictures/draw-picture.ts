import { createHash } from 'node:crypto';
import type { FrameSize } from '../../video/video-provider.ts';

export interface PictureRequest extends FrameSize {
  /** Short text. Longer prompts are cut before. */
  caption: string;
  /** The text that decides shapes and colours. */
  seed: string;
}

/** The family name in the font file. */
export const fontFamily = 'Open Sans';

/** Draws a landscape as SVG with the caption on it. The same request draws the same picture. */
export const drawPicture = (request: PictureRequest): string => {
  const { width, height, seed } = request;
  const random = seededRandom(seed);
  const { sky, hills, sun } = pickPalette(random());
  const sunX = width * (0.2 + 0.6 * random());
  const sunY = height * (0.22 + 0.16 * random());
  const sunRadius = Math.min(width, height) * (0.07 + 0.05 * random());
  return svg(request, [
    gradient(sky),
    `<rect width="${width}" height="${height}" fill="url(#gradient)"/>`,
    `<circle cx="${n(sunX)}" cy="${n(sunY)}" r="${n(sunRadius)}" fill="${sun}"/>`,
    ...hills.map((colour, layer) => hill({ width, height, layer, colour, random })),
    caption(request, { fill: '#000000', opacity: 0.4 }),
    badge(request, 'SANDBOX'),
  ]);
};

/** Draws the overlay of an edit as transparent SVG: a tint and a frame in colours of the seed, and the caption. */
export const drawOverlay = (request: PictureRequest): string => {
  const { width, height, seed } = request;
  const { sky, hills, sun } = pickPalette(seededRandom(seed)());
  const stroke = Math.min(width, height) * 0.025;
  return svg(request, [
    gradient([sky[2], sky[1], hills[2]]),
    `<rect width="${width}" height="${height}" fill="url(#gradient)" fill-opacity="0.4"/>`,
    caption(request, { fill: hills[2], opacity: 1 }),
    `<rect x="${n(stroke / 2)}" y="${n(stroke / 2)}" width="${n(width - stroke)}" height="${n(height - stroke)}" ` +
      `fill="none" stroke="${sun}" stroke-width="${n(stroke)}"/>`,
    badge(request, 'SANDBOX EDIT'),
  ]);
};

const svg = ({ width, height }: FrameSize, parts: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
  `${parts.join('')}</svg>`;

/** Colours from top to bottom, the second one in the middle. */
const gradient = (colours: readonly [string, string, string]): string => {
  const stops = colours.map((colour, index) => `<stop offset="${index / 2}" stop-color="${colour}"/>`);
  return `<linearGradient id="gradient" x1="0" y1="0" x2="0" y2="1">${stops.join('')}</linearGradient>`;
};

type Random = () => number;

/** Draws a range of hills as a sum of waves. Nearer layers are lower and darker. */
const hill = (options: FrameSize & { layer: number; colour: string; random: Random }): string => {
  const { width, height, layer, colour, random } = options;
  const waves = [1, 2].map((octave) => ({
    length: (octave * (1.2 + random()) * Math.PI * 2) / width,
    height: (Math.min(width, height) * (0.1 - 0.015 * layer)) / octave,
    phase: random() * Math.PI * 2,
  }));
  const points = Array.from({ length: 161 }, (_, index) => {
    const x = (width * index) / 160;
    const y = waves.reduce(
      (sum, wave) => sum + wave.height * Math.sin(x * wave.length + wave.phase),
      height * (0.55 + 0.14 * layer),
    );
    return `${n(x)} ${n(y)}`;
  });
  return `<path d="M0 ${height} L${points.join(' L')} L${width} ${height} Z" fill="${colour}"/>`;
};

/** Draws the caption at the bottom, in white on a band, in the largest type that fits. */
const caption = (
  { width, height, caption: words }: PictureRequest,
  { fill, opacity }: { fill: string; opacity: number },
): string => {
  const margin = Math.round(Math.min(width, height) * 0.06);
  const { fontSize, lines } = layOutCaption(words, { width: width - 2 * margin, height: height * 0.38 });
  if (lines.length === 0) return '';
  const lineHeight = fontSize * 1.3;
  const firstBaseline = height - margin - (lines.length - 1) * lineHeight;
  const top = firstBaseline - fontSize - margin / 2;
  const texts = lines.map(
    (line, index) =>
      `<text x="${margin}" y="${n(firstBaseline + index * lineHeight)}" ${font(fontSize)}>${escapeXml(line)}</text>`,
  );
  return `<rect y="${n(top)}" width="${width}" height="${n(height - top)}" fill="${fill}" fill-opacity="${opacity}"/>${texts.join('')}`;
};

/** Draws a badge in the upper left corner. The font's capitals are about 0.72 of its size wide. */
const badge = ({ width, height }: FrameSize, text: string): string => {
  const unit = Math.min(width, height) / 100;
  const badgeWidth = (text.length * 2.35 + 3.4) * unit;
  return (
    `<rect x="${n(5 * unit)}" y="${n(5 * unit)}" width="${n(badgeWidth)}" height="${n(5.4 * unit)}" rx="${n(2.7 * unit)}" fill="#000000" fill-opacity="0.6"/>` +
    `<text x="${n(5 * unit + badgeWidth / 2)}" y="${n(8.7 * unit)}" text-anchor="middle" letter-spacing="${n(0.35 * unit)}" ${font(2.7 * unit)}>${text}</text>`
  );
};

const font = (size: number): string =>
  `font-family="${fontFamily}" font-weight="600" font-size="${n(size)}" fill="#ffffff"`;

/** Rounds a coordinate to two decimals. */
const n = (value: number): string => String(Math.round(value * 100) / 100);

const escapeXml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Sky from top to bottom, three layers of hills, the sun. Only hex, because the renderer reads fractional hsl() as black. */
const palettes = [
  { sky: ['#1b2a49', '#465c8b', '#f0a07c'], hills: ['#3d4f7c', '#2b3a63', '#182344'], sun: '#ffd9a0' },
  { sky: ['#0f3d3e', '#2c7873', '#e2d58b'], hills: ['#2f8577', '#1f6160', '#0d3b40'], sun: '#fff3c4' },
  { sky: ['#3b1c4a', '#8a3f78', '#ffb199'], hills: ['#7b3a72', '#562a5c', '#311640'], sun: '#ffe0c2' },
  { sky: ['#12305c', '#3a7ca5', '#d9e8e3'], hills: ['#4a86a3', '#2d6187', '#163a60'], sun: '#ffffff' },
  { sky: ['#4a1d1f', '#b0503c', '#f7c873'], hills: ['#a0493a', '#73302e', '#401a20'], sun: '#fff0b8' },
  { sky: ['#20264d', '#5a5aa6', '#c9b6e4'], hills: ['#6461ab', '#454487', '#262a5c'], sun: '#f8efff' },
] as const;

/** Picks a palette. `random` is from 0 to below 1. */
const pickPalette = (random: number): (typeof palettes)[number] =>
  palettes[Math.floor(random * palettes.length)] ?? palettes[0];

/** Returns a source of 32 numbers from 0 to below 1 that depend on the seed alone. */
const seededRandom = (seed: string): Random => {
  const bytes = createHash('sha512').update(seed).digest();
  let position = 0;
  return () => {
    position += 2;
    return bytes.readUInt16BE(position - 2) / 2 ** 16;
  };
};

export interface CaptionLayout {
  fontSize: number;
  lines: string[];
}

const fontSizes = [64, 52, 42, 34, 28, 23, 19];
/** The mean width of a letter, as a part of the font size. */
const letterWidth = 0.56;
const lineHeight = 1.3;

/** Breaks a caption into lines in the largest type that fits the box. In the smallest type it is cut with an ellipsis. */
export const layOutCaption = (caption: string, box: { width: number; height: number }): CaptionLayout => {
  const words = printable(caption)
    .split(' ')
    .filter((word) => word !== '');
  let layout: CaptionLayout = { fontSize: 0, lines: [] };
  for (const fontSize of fontSizes) {
    layout = { fontSize, lines: wrap(words, Math.floor(box.width / (fontSize * letterWidth))) };
    if (layout.lines.length * fontSize * lineHeight <= box.height) return layout;
  }
  return cutToHeight(layout, box.height);
};

/** Characters that the font lacks, which would leave gaps, and those that XML 1.0 forbids. */
const notPrintable =
  /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Mn}\p{Nd}\p{P}\p{Sc}\p{Sm}]+/gu;

const printable = (text: string): string => text.normalize('NFC').replace(notPrintable, ' ').trim();

const wrap = (words: readonly string[], lineLength: number): string[] => {
  const lines: string[] = [];
  for (const word of words.flatMap((long) => split(long, lineLength))) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= lineLength)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
};

const split = (word: string, length: number): string[] => {
  const letters = Array.from(word);
  const parts: string[] = [];
  for (let start = 0; start < letters.length; start += length)
    parts.push(letters.slice(start, start + length).join(''));
  return parts;
};

const cutToHeight = ({ fontSize, lines }: CaptionLayout, height: number): CaptionLayout => {
  const count = Math.max(1, Math.floor(height / (fontSize * lineHeight)));
  const kept = lines.slice(0, count);
  if (kept.length < lines.length) kept.push(`${(kept.pop() ?? '').slice(0, -3).toWellFormed()}...`);
  return { fontSize, lines: kept };
};
