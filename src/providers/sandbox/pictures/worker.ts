import { createRequire } from 'node:module';
import { Resvg } from '@resvg/resvg-js';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import { drawOverlay, drawPicture, fontFamily, type PictureRequest } from './draw-picture.ts';

/** A whole picture, or the overlay of an edit. */
export type DrawTask = PictureRequest & {
  layer: 'picture' | 'overlay';
};

const require = createRequire(import.meta.url);
/** Latin, Greek, Cyrillic, Hebrew and Vietnamese letters. */
const fontFile = require.resolve('@expo-google-fonts/open-sans/600SemiBold/OpenSans_600SemiBold.ttf');

const draw = { picture: drawPicture, overlay: drawOverlay };

serveCalls(({ layer, ...request }: DrawTask): Uint8Array => {
  const drawing = new Resvg(draw[layer](request), {
    font: { loadSystemFonts: false, fontFiles: [fontFile], defaultFontFamily: fontFamily },
  });
  return drawing.render().asPng();
});
