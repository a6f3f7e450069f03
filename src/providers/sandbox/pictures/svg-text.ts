import { layOutCaption } from './lay-out-caption.ts';
import type { PictureSize } from './picture-size.ts';

/** The family name in the font file. */
export const fontFamily = 'Open Sans';

export interface Caption extends PictureSize {
  caption: string;
}

/** Draws a caption in white at the bottom, in the largest type that fits. */
export const captionText = (picture: Caption): string => placeCaption(picture).text;

/** Draws a caption on an opaque band of a colour. */
export const captionBand = (picture: Caption & { fill: string }): string => {
  const { text, top } = placeCaption(picture);
  if (text === '') return '';
  const { width, height, fill } = picture;
  return `<rect y="${n(top)}" width="${width}" height="${n(height - top)}" fill="${fill}"/>${text}`;
};

/** Places the words. `top` is the upper edge of the space that they take. */
const placeCaption = ({ width, height, caption }: Caption): { text: string; top: number } => {
  const margin = Math.round(Math.min(width, height) * 0.06);
  const { fontSize, lines } = layOutCaption(caption, { width: width - 2 * margin, height: height * 0.38 });
  const lineHeight = fontSize * 1.3;
  const firstBaseline = height - margin - (lines.length - 1) * lineHeight;
  const text = lines
    .map(
      (line, index) =>
        `<text x="${margin}" y="${n(firstBaseline + index * lineHeight)}" font-family="${fontFamily}" font-weight="600" ` +
        `font-size="${fontSize}" fill="#ffffff">${escapeXml(line)}</text>`,
    )
    .join('');
  return { text, top: firstBaseline - fontSize - margin / 2 };
};

/** Draws a badge in the upper left corner. The font's capitals are about 0.72 of its size wide. */
export const badge = ({
  width,
  height,
  text,
  opacity,
}: PictureSize & { text: string; opacity: number }): string => {
  const unit = Math.min(width, height) / 100;
  const badgeWidth = (text.length * 2.35 + 3.4) * unit;
  return (
    `<rect x="${n(5 * unit)}" y="${n(5 * unit)}" width="${n(badgeWidth)}" height="${n(5.4 * unit)}" rx="${n(2.7 * unit)}" fill="#000000" fill-opacity="${opacity}"/>` +
    `<text x="${n(5 * unit + badgeWidth / 2)}" y="${n(8.7 * unit)}" text-anchor="middle" font-family="${fontFamily}" font-weight="600" ` +
    `font-size="${n(2.7 * unit)}" letter-spacing="${n(0.35 * unit)}" fill="#ffffff">${escapeXml(text)}</text>`
  );
};

/** Draws a shade that grows darker towards the bottom, behind white letters. Only once in a document. */
export const shade = ({ width, height }: PictureSize): string =>
  '<linearGradient id="shade" x1="0" y1="0" x2="0" y2="1">' +
  '<stop offset="0" stop-color="#000000" stop-opacity="0"/><stop offset="1" stop-color="#000000" stop-opacity="0.5"/>' +
  `</linearGradient><rect y="${n(height * 0.45)}" width="${width}" height="${n(height * 0.55)}" fill="url(#shade)"/>`;

/** Rounds a coordinate to two decimals. */
export const n = (value: number): string => String(Math.round(value * 100) / 100);

const escapeXml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
