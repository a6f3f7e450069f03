import { createRequire } from 'node:module';
import { Resvg } from '@resvg/resvg-js';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import { drawPicture, type PictureRequest } from '../pictures/draw-picture.ts';
import { badge, fontFamily } from '../pictures/svg-text.ts';

const require = createRequire(import.meta.url);
const fontFile = require.resolve('@expo-google-fonts/open-sans/600SemiBold/OpenSans_600SemiBold.ttf');

/** A whole card, or only its mark on a transparent ground. */
export type DrawTask = PictureRequest & { layer: 'card' | 'mark' };

/** The longer side of the layout. Pictures are scaled from it, so that words have the same relative size in every film. */
const drawnSide = 1_280;

const drawMark = ({ width, height }: PictureRequest): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    badge({ width, height, text: 'SANDBOX', opacity: 0.45 }),
    '</svg>',
  ].join('');

const draw = { card: drawPicture, mark: drawMark };

serveCalls(({ layer, width, height, ...picture }: DrawTask): Uint8Array => {
  const scale = drawnSide / Math.max(width, height);
  const drawing = draw[layer]({ ...picture, width: width * scale, height: height * scale });
  const rendered = new Resvg(drawing, {
    font: { loadSystemFonts: false, fontFiles: [fontFile], defaultFontFamily: fontFamily },
    fitTo: { mode: 'width', value: width },
  });
  return rendered.render().asPng();
});
