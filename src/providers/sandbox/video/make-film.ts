import { fork } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../../kit/ids.ts';
import { decodeImage, ImageError, withSharp } from '../../image/decode-image.ts';
import { ProviderError } from '../../provider-error.ts';
import type { ThreadPool } from '../../../kit/threads/thread-pool.ts';
import type { DrawTask } from '../pictures/worker.ts';
import { sandboxHolder } from '../pictures/edit-pictures.ts';
import type { FilmEncoding } from './encode-film.ts';
import type { FilmOutcome, FilmReport } from './encode-worker.ts';
import type { FilmPlan, Shot } from './plan-film.ts';

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
    let last: Uint8Array = Buffer.alloc(0);
    for (const [index, shot] of plan.shots.entries()) {
      const file = join(work, `still-${index}`);
      last = await makeStill(shot, options);
      await writeFile(file, last);
      signal.throwIfAborted();
      stills.push(file);
    }
    const film = join(work, filmFile);
    await encode({ plan, stills, film }, options);
    if (plan.hasLastFrame) {
      const lastFrame = join(work, lastFrameFile);
      await writeFile(lastFrame, await toPng(last, options));
      await rename(lastFrame, join(folder, lastFrameFile));
    }
    await rename(film, join(folder, filmFile));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};

/** Makes a still of a shot: 8-bit RGB with an unused fourth byte, in the film's size. */
const makeStill = async (shot: Shot, { plan, folder, draw, signal }: MakeFilmOptions): Promise<Buffer> => {
  const { width, height, card } = plan;
  const bytes =
    shot.kind === 'image'
      ? await readFile(join(folder, shot.file))
      : await draw({ layer: 'picture', layoutSide, width, height, ...card }, signal);
  try {
    return await decodeImage(
      bytes,
      (image) =>
        image
          .autoOrient()
          .resize(width, height, { fit: 'cover' })
          .flatten({ background: '#000000' })
          .toColourspace('srgb')
          .ensureAlpha()
          .raw()
          .toBuffer(),
      { signal, accountId: sandboxHolder },
    );
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

const toPng = (still: Uint8Array, { plan, signal }: MakeFilmOptions): Promise<Buffer> => {
  const raw = { width: plan.width, height: plan.height, channels: 4 } as const;
  return withSharp((sharp) => sharp(still, { raw }).removeAlpha().png({ compressionLevel: 3 }).toBuffer(), {
    signal,
    accountId: sandboxHolder,
  });
};

/**
 * Encodes in a process for this film alone. Its end frees all memory of the encoder, and it can be ended at any time. It
 * only computes, so it gets nothing of the gateway's environment.
 */
const encode = async (task: FilmEncoding, { signal, onPicture }: MakeFilmOptions): Promise<void> => {
  signal.throwIfAborted();
  const { promise: ended, resolve: end } = Promise.withResolvers<FilmOutcome>();
  const encoder = fork(new URL('./encode-worker.ts', import.meta.url), {
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
