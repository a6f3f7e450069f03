import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OverlayOptions, Sharp } from 'sharp';
import { newId } from '../../../ids.ts';
import { decodeImage, ImageError, withSharp, type DecodeOptions } from '../../image/decode-image.ts';
import { ProviderError } from '../../provider-error.ts';
import type { WorkerPool } from '../../worker-pool.ts';
import { filmArguments, lastFrameArguments } from './ffmpeg-arguments.ts';
import type { FilmPlan, Shot } from './film-plan.ts';
import { runFfmpeg } from './run-ffmpeg.ts';
import { sandboxHolder } from '../sandbox-holder.ts';
import type { DrawTask } from './worker.ts';

export interface MakeFilmOptions {
  plan: FilmPlan;
  /** Of the task: has the images, and gets the film. */
  folder: string;
  ffmpeg: string;
  draw: WorkerPool<DrawTask, Uint8Array>['run'];
  /** Called with the done share, from 0 to 1. */
  onProgress: (share: number) => void;
  signal: AbortSignal;
}

/** The names of what a film's folder has in the end; the film comes last. */
export const filmFile = 'film';
export const lastFrameFile = 'last-frame.png';

/** 30 s of 4k take a minute on two cores. */
const limitMs = 900_000;

/** Makes the film of a plan, and its last frame. Throws ProviderError or the signal's reason. */
export const makeFilm = async (options: MakeFilmOptions): Promise<void> => {
  const { plan, folder, ffmpeg, signal } = options;
  // A folder of its own: another process may be at the same film, where a job changed hands.
  const work = join(folder, newId());
  await mkdir(work);
  try {
    const stills: string[] = [];
    for (const [index, shot] of plan.shots.entries()) {
      const file = join(work, `still-${index}.png`);
      await makeStill(shot, file, options);
      signal.throwIfAborted();
      stills.push(file);
    }
    const film = join(work, filmFile);
    await runFfmpeg({
      path: ffmpeg,
      arguments: filmArguments(plan, stills, film),
      onFrame: (frames) => options.onProgress(frames / plan.frames),
      limitMs,
      signal,
    });
    if (plan.hasLastFrame) {
      const lastFrame = join(work, lastFrameFile);
      await runFfmpeg({ path: ffmpeg, arguments: lastFrameArguments(film, lastFrame), limitMs, signal });
      await rename(lastFrame, join(folder, lastFrameFile));
    }
    await rename(film, join(folder, filmFile));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};

/** The program that films gets to see pictures of our own making only: a stranger's is decoded and encoded here. */
const makeStill = async (shot: Shot, file: string, options: MakeFilmOptions): Promise<void> => {
  await writeFile(file, await (shot.kind === 'card' ? cardStill(options) : imageStill(shot, options)));
};

const cardStill = async (options: MakeFilmOptions): Promise<Uint8Array> => {
  const drawn = await drawLayer('card', options);
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
    .png({ compressionLevel: 1 })
    .toBuffer();

/** In the film's size, to the pixel: rounding may have made it a row more or less. */
const drawLayer = async (layer: DrawTask['layer'], options: MakeFilmOptions): Promise<Uint8Array> => {
  const { draw, signal } = options;
  const { width, height, card } = options.plan;
  const drawn = await draw({ layer, width, height, ...card }, signal);
  return withSharp(
    (sharp) => sharp(drawn).resize(width, height, { fit: 'fill' }).png({ compressionLevel: 0 }).toBuffer(),
    inTurn(options),
  );
};

const inTurn = ({ signal }: MakeFilmOptions): DecodeOptions => ({ signal, accountId: sandboxHolder });
