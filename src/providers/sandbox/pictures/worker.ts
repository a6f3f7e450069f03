import { createRequire } from 'node:module';
import { Resvg } from '@resvg/resvg-js';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import { drawOverlay, drawPicture, fontFamily, type PictureRequest } from './draw-picture.ts';

/** A whole picture, or the overlay of an edit. */
export type DrawTask = PictureRequest & {
  layer: 'picture' | 'overlay';
  /** The longer side of the layout, from which the picture is scaled; by default that of the picture. */
  layoutSide?: number;
};

const require = createRequire(import.meta.url);
/** Latin, Greek, Cyrillic, Hebrew and Vietnamese letters. */
const fontFile = require.resolve('@expo-google-fonts/open-sans/600SemiBold/OpenSans_600SemiBold.ttf');

const draw = { picture: drawPicture, overlay: drawOverlay };

serveCalls(({ layer, layoutSide, width, height, ...words }: DrawTask): Uint8Array => {
  const scale = layoutSide === undefined ? 1 : layoutSide / Math.max(width, height);
  const drawing = new Resvg(draw[layer]({ ...words, width: width * scale, height: height * scale }), {
    font: { loadSystemFonts: false, fontFiles: [fontFile], defaultFontFamily: fontFamily },
    fitTo: { mode: 'width', value: width },
  });
  return drawing.render().asPng();
});
