import { createRequire } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { Resvg } from '@resvg/resvg-js';
import type { WorkerReply } from '../../worker-pool.ts';
import { drawOverlay } from './draw-overlay.ts';
import { drawPicture, type PictureRequest } from './draw-picture.ts';
import { fontFamily } from './svg-text.ts';

/** A whole picture, or the overlay of an edit. */
export type DrawTask = PictureRequest & { layer: 'picture' | 'overlay' };

const require = createRequire(import.meta.url);
/** Latin, Greek, Cyrillic, Hebrew and Vietnamese letters. */
const fontFile = require.resolve('@expo-google-fonts/open-sans/600SemiBold/OpenSans_600SemiBold.ttf');

const draw = { picture: drawPicture, overlay: drawOverlay };

const render = ({ layer, ...request }: DrawTask): WorkerReply<Uint8Array> => {
  try {
    const picture = new Resvg(draw[layer](request), {
      font: { loadSystemFonts: false, fontFiles: [fontFile], defaultFontFamily: fontFamily },
    });
    return { output: picture.render().asPng() };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : 'the picture was not drawn' };
  }
};

parentPort?.on('message', (task: DrawTask) => parentPort?.postMessage(render(task)));
