import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { throttle } from '../../kit/throttle.ts';
import { createFairShareLimiter } from '../../kit/fair-share-limiter.ts';
import type { Clock } from '../../kit/clock.ts';
import { randomBase62 } from '../../kit/ids.ts';
import type { Log } from '../../kit/log.ts';
import { memoizeAsync } from '../../kit/memoize-async.ts';
import { ProviderError } from '../provider-error.ts';
import type { VideoProvider, VideoReport } from '../video/video-provider.ts';
import { createThreadPool } from '../../kit/threads/thread-pool.ts';
import { obeyTriggers, readTriggers, type SandboxTriggers } from './triggers.ts';
import { createFilmFolders, withoutWords, type FilmTask } from './video/film-folder.ts';
import { filmFile, lastFrameFile, makeFilm } from './video/make-film.ts';
import { planFilm } from './video/plan-film.ts';
import type { DrawTask } from './pictures/worker.ts';

export interface SandboxVideoOptions {
  /** The folder of the films. It is made with the first one. */
  directory: string;
  clock: Clock;
  log: Log;
  /** Loads the encoder. Rejects when this machine has none. */
  loadEncoder?: () => Promise<unknown>;
}

export interface SandboxVideo extends VideoProvider {
  /** Removes films that nobody fetched within a day. Starts of films do this too, once an hour. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

const idLength = 32;
const keptMs = 24 * 3_600_000;
const sweepEveryMs = 3_600_000;
/** A fetched film is kept this long, so that it can be fetched again. */
const fetchedMs = 600_000;
/** A stalling film fails after this time, so that it does not count against its account for hours. */
const stalledMs = 600_000;
/** A film takes all cores of a small machine, and at 4k most of a gigabyte. */
const filmsAtOnce = 1;
const maxFilms = 200;
/** The wait before the sandbox is asked again while no film can be begun. */
const retryMs = 30_000;

/** A film that is being made, or waits to be made. */
interface Filming {
  /** How many of its pictures are made. */
  made: number;
  ending: Promise<void>;
}

/**
 * Makes videos without a model: real, playable films of a drawn card with the prompt's words and the mark "SANDBOX", and of
 * the input images. Each film is encoded in the background in a process of its own. Tasks and films are files, so another
 * process can continue them.
 */
export const createSandboxVideo = ({
  directory,
  clock,
  log,
  loadEncoder = () => import('@napi-rs/webcodecs'),
}: SandboxVideoOptions): SandboxVideo => {
  const folders = createFilmFolders(directory);
  const assertEncoder = memoizeAsync(async () => {
    try {
      await loadEncoder();
    } catch (error) {
      throw new ProviderError(
        `the sandbox makes no videos here: its encoder, the optional package @napi-rs/webcodecs, is not installed or has no build for ${process.platform} ${process.arch}`,
        { failure: 'retry_other', code: 'upstream_unavailable', cause: error },
      );
    }
  });
  const films = createFairShareLimiter({ total: filmsAtOnce, queue: { total: maxFilms } });
  const pictures = createThreadPool<DrawTask, Uint8Array>({
    file: new URL('./pictures/worker.ts', import.meta.url),
    size: 1,
    queueLimit: maxFilms,
    timeoutMs: 30_000,
    maxHeapMb: 256,
  });
  const filmings = new Map<string, Filming>();
  const removals = new Map<string, NodeJS.Timeout>();
  const closing = new AbortController();

  const film = async (id: string, task: FilmTask, filming: Filming): Promise<void> => {
    const { plan } = task;
    try {
      await assertEncoder();
      await films.run({}, { signal: closing.signal }, () =>
        makeFilm({
          plan,
          folder: folders.path(id),
          draw: pictures.run,
          onPicture: (made) => {
            filming.made = made;
          },
          signal: closing.signal,
        }),
      );
    } catch (error) {
      if (closing.signal.aborted) return;
      log.error({ err: error, film: id }, 'the sandbox made no video');
      await folders.fail(id, error instanceof Error ? error.message : 'unknown');
    }
    await folders.forgetRequest(id, task);
  };

  const sweep = (): Promise<void> => folders.sweep(clock.now() - keptMs);
  const sweepSometimes = throttle<void>(sweepEveryMs, () => {
    sweep().catch((error: unknown) => log.error({ err: error }, 'removing old films failed'));
  });

  const isFull = (): boolean => filmings.size >= maxFilms;

  /** Makes the film unless it is being made already. With too many films under way, a later call begins it. */
  const begin = (id: string, task: FilmTask): Filming | null => {
    const running = filmings.get(id);
    if (running !== undefined) return running;
    if (isFull() || closing.signal.aborted) return null;
    const filming: Filming = { made: 0, ending: Promise.resolve() };
    filmings.set(id, filming);
    filming.ending = film(id, task, filming)
      .catch((error: unknown) =>
        log.error({ err: error, film: id }, 'a failure of the sandbox was not noted'),
      )
      .finally(() => filmings.delete(id));
    return filming;
  };

  const removeLater = (id: string): void => {
    clearTimeout(removals.get(id));
    const timer = setTimeout(() => {
      removals.delete(id);
      folders
        .remove(id)
        .catch((error: unknown) => log.error({ err: error, film: id }, 'a film was not removed'));
    }, fetchedMs);
    removals.set(id, timer.unref());
  };

  const findTask = async (id: string): Promise<FilmTask> => {
    const task = await folders.read(id);
    if (task !== null) return task;
    throw new ProviderError('the sandbox has no such video: it was removed, or is on another machine', {
      failure: 'fatal',
    });
  };

  /** Returns the report that the triggers ask for; null when the film is made as usual. */
  const obeyed = async (task: FilmTask, signal: AbortSignal): Promise<VideoReport | null> => {
    const { triggers, startedAt } = task;
    const waited = clock.now() - startedAt;
    if (triggers.stalls)
      return waited < stalledMs
        ? { state: 'pending', progress: 0 }
        : failed('the prompt asked the sandbox to stall');
    if (waited < triggers.delayMs)
      return { state: 'pending', progress: (100 * Math.max(waited, 0)) / triggers.delayMs };
    try {
      await obeyTriggers({ ...triggers, delayMs: 0 }, signal);
      return null;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ProviderError)) throw error;
      return { state: 'failed', error };
    }
  };

  return {
    restMs: async () => {
      const hasEncoder = await assertEncoder().then(
        () => true,
        () => false,
      );
      return hasEncoder && !isFull() ? 0 : retryMs;
    },
    start: async (request, { signal }) => {
      sweepSometimes();
      await assertEncoder();
      signal.throwIfAborted();
      if (isFull())
        throw new ProviderError('too many videos wait to be made by the sandbox', {
          failure: 'retry_other',
          code: 'upstream_unavailable',
        });
      const { plan, images } = await planFilm(request, signal);
      const task = { plan, triggers: readTriggers(request.prompt), startedAt: clock.now() };
      const id = randomBase62(idLength);
      if (isFilmed(task.triggers)) {
        await folders.create(id, task, images);
        begin(id, task);
      } else await folders.create(id, withoutWords(task), []);
      return id;
    },
    report: async (id, { signal }) => {
      const task = await findTask(id);
      const asTold = await obeyed(task, signal);
      if (asTold !== null) return asTold;
      if (await folders.has(id, filmFile)) return { state: 'done' };
      const problem = await folders.problem(id);
      if (problem !== null) return failed(`the sandbox made no video: ${problem}`);
      const filming = begin(id, task);
      return { state: 'pending', progress: (100 * (filming?.made ?? 0)) / task.plan.frames };
    },
    fetch: async (id, part) => {
      const { plan } = await findTask(id);
      if (part === 'last_frame' && !plan.hasLastFrame) return null;
      const file = part === 'video' ? filmFile : lastFrameFile;
      if (!(await folders.has(id, file)))
        throw new ProviderError('the sandbox has not made this video yet', { failure: 'retry_same' });
      return {
        contentType: contentTypes[part === 'video' ? plan.container : 'png'],
        body: readFilm(folders.path(id, file), () => removeLater(id)),
      };
    },
    sweep,
    close: async () => {
      closing.abort(new Error('the sandbox is closed'));
      for (const timer of removals.values()) clearTimeout(timer);
      await Promise.all([pictures.close(), ...[...filmings.values()].map(({ ending }) => ending)]);
    },
  };
};

const failed = (message: string): VideoReport => ({
  state: 'failed',
  error: new ProviderError(message, { failure: 'fatal' }),
});

const contentTypes = { mp4: 'video/mp4', mov: 'video/quicktime', png: 'image/png' };

/** Tells whether a film must be made. One whose triggers let it fail need not be. */
const isFilmed = ({ stalls, fails, isModerated, isRateLimited }: SandboxTriggers): boolean =>
  !(stalls || fails || isModerated || isRateLimited);

const readFilm = async function* (
  file: string,
  onRead: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await open(file, 'r');
  yield* createReadStream('', { fd: handle });
  onRead();
};
