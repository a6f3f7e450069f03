import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Clock } from '../../kit/clock.ts';
import { randomBase62 } from '../../kit/ids.ts';
import type { Log } from '../../kit/log.ts';
import { memoizeAsync } from '../../kit/memoize-async.ts';
import { repeat } from '../../kit/repeat.ts';
import { ProviderError } from '../provider-error.ts';
import type { VideoProvider, VideoReport } from '../video/video-provider.ts';
import { obeyTriggers, readTriggers } from './triggers.ts';
import { createFilmFolders, withoutWords, type FilmFolders, type FilmTask } from './video/film-folder.ts';
import { createFilmQueue } from './video/film-queue.ts';
import { filmFile, lastFrameFile } from './video/make-film.ts';
import { planFilm } from './video/plan-film.ts';

export interface SandboxVideoOptions {
  /** The folder of the films. It is made with the first one. */
  directory: string;
  clock: Clock;
  log: Log;
  /** Loads the encoder. Rejects when this machine has none. */
  loadEncoder?: () => Promise<unknown>;
  /** How often old films are removed. */
  sweepEveryMs?: number;
}

export interface SandboxVideo extends VideoProvider {
  close(): Promise<void>;
}

const idLength = 32;
/** A film that nobody fetches is kept this long. */
const keptMs = 24 * 3_600_000;
/** A fetched film is kept this long, so that it can be fetched again. */
const fetchedMs = 600_000;
/** A stalling film fails after this time, so that it does not count against its account for hours. */
const stalledMs = 600_000;
/** The wait before the sandbox is asked again while no film can be begun. */
const retryMs = 30_000;

/**
 * Makes videos without a model: real, playable films of a drawn card with the prompt's words and the mark "SANDBOX", and of
 * the input images. Each film is encoded in the background in a process of its own. Tasks and films are files, so another
 * process can continue them. Old films are removed until `close`.
 */
export const createSandboxVideo = ({
  directory,
  clock,
  log,
  loadEncoder = () => import('@napi-rs/webcodecs'),
  sweepEveryMs = 60_000,
}: SandboxVideoOptions): SandboxVideo => {
  const folders = createFilmFolders(directory);
  const assertEncoder = memoizeAsync(() => loadOrRefuse(loadEncoder));
  const queue = createFilmQueue({ folders, assertEncoder, log });
  const removal = removeOldFilms({ folders, clock, log, sweepEveryMs });

  const findTask = async (id: string): Promise<FilmTask> => {
    const task = await folders.read(id);
    if (task !== null) return task;
    throw new ProviderError('the sandbox has no such video: it was removed, or is on another machine', {
      failure: 'fatal',
    });
  };

  return {
    restMs: async () => {
      const hasEncoder = await assertEncoder().then(
        () => true,
        () => false,
      );
      return hasEncoder && !queue.isFull() ? 0 : retryMs;
    },
    start: async (request, { signal }) => {
      await assertEncoder();
      signal.throwIfAborted();
      if (queue.isFull())
        throw new ProviderError('too many videos wait to be made by the sandbox', {
          failure: 'retry_other',
          code: 'upstream_unavailable',
        });
      const { plan, images } = await planFilm(request, signal);
      const triggers = readTriggers(request.prompt);
      const task = { plan, triggers, startedAt: clock.now() };
      const id = randomBase62(idLength);
      if (triggers.stalls || triggers.fails || triggers.isModerated || triggers.isRateLimited)
        await folders.create(id, withoutWords(task), []);
      else {
        await folders.create(id, task, images);
        queue.begin(id, task);
      }
      return id;
    },
    report: async (id, { signal }) => {
      const task = await findTask(id);
      const asTold = await obey(task, clock.now() - task.startedAt, signal);
      if (asTold !== null) return asTold;
      if (await folders.has(id, filmFile)) return { state: 'done' };
      const problem = await folders.problem(id);
      if (problem !== null) return failed(`the sandbox made no video: ${problem}`);
      queue.begin(id, task);
      return { state: 'pending', progress: (100 * queue.made(id)) / task.plan.frames };
    },
    fetch: async (id, part) => {
      const { plan } = await findTask(id);
      if (part === 'last_frame' && !plan.hasLastFrame) return null;
      const file = part === 'video' ? filmFile : lastFrameFile;
      if (!(await folders.has(id, file)))
        throw new ProviderError('the sandbox has not made this video yet', { failure: 'retry_same' });
      return {
        contentType: contentTypes[part === 'video' ? plan.container : 'png'],
        body: readFilm(folders.path(id, file), () => removal.expire(id)),
      };
    },
    close: async () => {
      await Promise.all([removal.close(), queue.close()]);
    },
  };
};

/** Removes old films, now and every `sweepEveryMs`, until `close`. */
const removeOldFilms = ({
  folders,
  clock,
  log,
  sweepEveryMs,
}: Pick<SandboxVideoOptions, 'clock' | 'log'> & { folders: FilmFolders; sweepEveryMs: number }) => {
  const closing = new AbortController();
  const sweeping = repeat({
    what: 'removing old films',
    intervalMs: sweepEveryMs,
    signal: closing.signal,
    log,
    work: () => folders.sweep(clock.now() - keptMs),
  });
  return {
    /** Lets a fetched film be removed soon. Failures are logged, because its download did not fail. */
    expire: async (id: string): Promise<void> => {
      try {
        await folders.expire(id, clock.now() - keptMs + fetchedMs);
      } catch (error) {
        log.error({ err: error, film: id }, 'a fetched film is kept for a day');
      }
    },
    /** Resolves when a sweep under way has ended. */
    close: async (): Promise<void> => {
      closing.abort();
      await sweeping;
    },
  };
};

const loadOrRefuse = async (loadEncoder: () => Promise<unknown>): Promise<void> => {
  try {
    await loadEncoder();
  } catch (error) {
    throw new ProviderError(
      `the sandbox makes no videos here: its encoder, the optional package @napi-rs/webcodecs, is not installed or has no build for ${process.platform} ${process.arch}`,
      { failure: 'retry_other', code: 'upstream_unavailable', cause: error },
    );
  }
};

/** Returns the report that the triggers ask for after `waitedMs`; null when the film is made as usual. */
const obey = async (
  { triggers }: FilmTask,
  waitedMs: number,
  signal: AbortSignal,
): Promise<VideoReport | null> => {
  if (triggers.stalls)
    return waitedMs < stalledMs
      ? { state: 'pending', progress: 0 }
      : failed('the prompt asked the sandbox to stall');
  if (waitedMs < triggers.delayMs)
    return { state: 'pending', progress: (100 * Math.max(waitedMs, 0)) / triggers.delayMs };
  try {
    await obeyTriggers({ ...triggers, delayMs: 0 }, signal);
    return null;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return { state: 'failed', error };
  }
};

const failed = (message: string): VideoReport => ({
  state: 'failed',
  error: new ProviderError(message, { failure: 'fatal' }),
});

const contentTypes = { mp4: 'video/mp4', mov: 'video/quicktime', png: 'image/png' };

const readFilm = async function* (
  file: string,
  onRead: () => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await open(file, 'r');
  yield* createReadStream('', { fd: handle });
  await onRead();
};
