import { createRequire } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { Resvg } from '@resvg/resvg-js';
import type { WorkerReply } from '../../worker-pool.ts';
import { drawPicture, fontFamily, type PictureRequest } from './draw-picture.ts';

const require = createRequire(import.meta.url);
/** Latin, Greek, Cyrillic, Hebrew and Vietnamese letters. */
const fontFile = require.resolve('@expo-google-fonts/open-sans/600SemiBold/OpenSans_600SemiBold.ttf');

const render = (request: PictureRequest): WorkerReply<Uint8Array> => {
  try {
    const picture = new Resvg(drawPicture(request), {
      font: { loadSystemFonts: false, fontFiles: [fontFile], defaultFontFamily: fontFamily },
    });
    return { output: picture.render().asPng() };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : 'the picture was not drawn' };
  }
};

parentPort?.on('message', (request: PictureRequest) => parentPort?.postMessage(render(request)));
