import { layOutCaption } from './lay-out-caption.ts';
import type { PictureSize } from './picture-size.ts';

/** The font file's own family name. */
export const fontFamily = 'Open Sans';

export interface Caption extends PictureSize {
  caption: string;
}

/** A caption in white at the bottom, in the largest type that fits. */
export const captionText = (picture: Caption): string => placeCaption(picture).text;

/** The same on a band of this colour, which hides what is under it. */
export const captionBand = (picture: Caption & { fill: string }): string => {
  const { text, top } = placeCaption(picture);
  if (text === '') return '';
  const { width, height, fill } = picture;
  return `<rect y="${n(top)}" width="${width}" height="${n(height - top)}" fill="${fill}"/>${text}`;
};

/** The words in their place, and where the room that they take begins. */
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

/** A badge in the upper left corner. The font's capitals are about as wide as 0.72 of its size. */
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

/** Darkness that grows towards the bottom, for white letters on it; once in a document. */
export const shade = ({ width, height }: PictureSize): string =>
  '<linearGradient id="shade" x1="0" y1="0" x2="0" y2="1">' +
  '<stop offset="0" stop-color="#000000" stop-opacity="0"/><stop offset="1" stop-color="#000000" stop-opacity="0.5"/>' +
  `</linearGradient><rect y="${n(height * 0.45)}" width="${width}" height="${n(height * 0.55)}" fill="url(#shade)"/>`;

/** A coordinate, short. */
export const n = (value: number): string => String(Math.round(value * 100) / 100);

const escapeXml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
