import { fork } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OverlayOptions, Sharp } from 'sharp';
import { newId } from '../../../kit/ids.ts';
import { decodeImage, ImageError, withSharp, type DecodeOptions } from '../../image/decode-image.ts';
import { ProviderError } from '../../provider-error.ts';
import type { ThreadPool } from '../../../kit/threads/thread-pool.ts';
import type { FilmEncoding } from './encode/encode-film.ts';
import type { FilmOutcome, FilmReport } from './encode/worker.ts';
import type { FilmPlan, Shot } from './film-plan.ts';
import { sandboxHolder } from '../sandbox-holder.ts';
import type { DrawTask } from '../pictures/worker.ts';

export interface MakeFilmOptions {
  plan: FilmPlan;
  /** The folder of the task, with its images. The film is written there. */
  folder: string;
  draw: ThreadPool<DrawTask, Uint8Array>['run'];
  /** Called with the number of pictures made. */
  onPicture: (made: number) => void;
  signal: AbortSignal;
}

/** The names of the results in a film's folder. The film is written last. */
export const filmFile = 'film';
export const lastFrameFile = 'last-frame.png';

/** 30 s of 4k take a minute on two cores. */
const limitMs = 900_000;

/** The longer side of the layout of every picture, so that words have the same relative size in every film. */
const layoutSide = 1_280;

/** Makes the film of a plan, and its last frame. Throws ProviderError or the signal's reason. */
export const makeFilm = async (options: MakeFilmOptions): Promise<void> => {
  const { plan, folder, signal } = options;
  // Another process may be making the same film after a job changed hands, so the work has a folder of its own.
  const work = join(folder, newId());
  await mkdir(work);
  try {
    const stills: string[] = [];
    for (const [index, shot] of plan.shots.entries()) {
      const file = join(work, `still-${index}`);
      await writeFile(file, await (shot.kind === 'card' ? cardStill(options) : imageStill(shot, options)));
      signal.throwIfAborted();
      stills.push(file);
    }
    const film = join(work, filmFile);
    const lastPicture = plan.hasLastFrame ? join(work, 'last-picture') : null;
    await encode({ plan, stills, film, lastFrame: lastPicture }, options);
    if (lastPicture !== null) {
      const lastFrame = join(work, lastFrameFile);
      await writeFile(lastFrame, await toPng(await readFile(lastPicture), options));
      await rename(lastFrame, join(folder, lastFrameFile));
    }
    await rename(film, join(folder, filmFile));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};

/**
 * Encodes in a process for this film alone. Its end frees all memory of the encoder, and it can be ended at any time. It
 * only computes, so it gets nothing of the gateway's environment.
 */
const encode = async (task: FilmEncoding, { signal, onPicture }: MakeFilmOptions): Promise<void> => {
  signal.throwIfAborted();
  const { promise: ended, resolve: end } = Promise.withResolvers<FilmOutcome>();
  const encoder = fork(new URL('./encode/worker.ts', import.meta.url), {
    execArgv: [],
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    signal,
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  let answer: FilmOutcome | null = null;
  encoder.on('message', (told: FilmReport) => {
    if ('made' in told) onPicture(told.made);
    else {
      answer = told;
      encoder.kill('SIGKILL');
    }
  });
  encoder.on('exit', (code, killedBy) =>
    end(answer ?? { failure: `its process ended with ${killedBy ?? code}` }),
  );
  encoder.on('error', (error) => {
    // A process that never started has no exit event.
    if (encoder.pid === undefined) end({ failure: error.message });
  });
  encoder.send(task, () => {});
  const reply = await ended;
  signal.throwIfAborted();
  if ('failure' in reply)
    throw new ProviderError(`the film was not encoded: ${reply.failure}`, { failure: 'fatal' });
};

const cardStill = async (options: MakeFilmOptions): Promise<Uint8Array> => {
  const drawn = await drawLayer('picture', options);
  return withSharp((sharp) => toStill(sharp(drawn), [], options), inTurn(options));
};

const imageStill = async (
  { file, place }: Shot & { kind: 'image' },
  options: MakeFilmOptions,
): Promise<Uint8Array> => {
  const bytes = await readFile(join(options.folder, file));
  const marks = place === 'between' ? [{ input: Buffer.from(await drawLayer('mark', options)) }] : [];
  try {
    return await decodeImage(bytes, (image) => toStill(image, marks, options), inTurn(options));
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new ProviderError('a picture of the film could not be made', {
      ...(error.problem === 'too_slow'
        ? { failure: 'retry_other', code: 'upstream_unavailable' }
        : { failure: 'fatal', code: 'invalid_parameter' }),
      cause: error,
    });
  }
};

/** Converts a picture to 8-bit RGB in the film's size. */
const toStill = (
  picture: Sharp,
  marks: OverlayOptions[],
  { plan: { width, height } }: MakeFilmOptions,
): Promise<Buffer> =>
  picture
    .autoOrient()
    .resize(width, height, { fit: 'cover' })
    .flatten({ background: '#000000' })
    .toColourspace('srgb')
    .composite(marks)
    .removeAlpha()
    .raw()
    .toBuffer();

const toPng = (rgb: Uint8Array, options: MakeFilmOptions): Promise<Buffer> => {
  const { width, height } = options.plan;
  return withSharp(
    (sharp) =>
      sharp(rgb, { raw: { width, height, channels: 3 } })
        .png({ compressionLevel: 3 })
        .toBuffer(),
    inTurn(options),
  );
};

/** Draws a layer and resizes it to the exact size of the film, because rounding may add or remove a row. */
const drawLayer = async (layer: DrawTask['layer'], options: MakeFilmOptions): Promise<Uint8Array> => {
  const { draw, signal } = options;
  const { width, height, card } = options.plan;
  const drawn = await draw({ layer, layoutSide, width, height, ...card }, signal);
  return withSharp(
    (sharp) => sharp(drawn).resize(width, height, { fit: 'fill' }).png({ compressionLevel: 0 }).toBuffer(),
    inTurn(options),
  );
};

const inTurn = ({ signal }: MakeFilmOptions): DecodeOptions => ({ signal, accountId: sandboxHolder });
