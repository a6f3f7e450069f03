import { createFairShareLimiter } from '../../../kit/fair-share-limiter.ts';
import type { Log } from '../../../kit/log.ts';
import { createThreadPool } from '../../../kit/threads/thread-pool.ts';
import type { DrawTask } from '../pictures/worker.ts';
import type { FilmFolders, FilmTask } from './film-folder.ts';
import { makeFilm } from './make-film.ts';

/** A film takes all cores of a small machine, and at 4k most of a gigabyte. */
const filmsAtOnce = 1;
const maxFilms = 200;

/** A film that is being made, or waits to be made. */
interface Filming {
  /** How many of its pictures are made. */
  made: number;
  ending: Promise<void>;
}

/** Makes films in the background, one after the other. A failure is noted in the film's folder. */
export const createFilmQueue = ({
  folders,
  assertEncoder,
  log,
}: {
  folders: FilmFolders;
  /** Rejects when this machine has no encoder. */
  assertEncoder: () => Promise<void>;
  log: Log;
}) => {
  const limiter = createFairShareLimiter({ total: filmsAtOnce, queue: { total: maxFilms } });
  const pictures = createThreadPool<DrawTask, Uint8Array>({
    file: new URL('../pictures/worker.ts', import.meta.url),
    size: 1,
    queueLimit: maxFilms,
    timeoutMs: 30_000,
    maxHeapMb: 256,
  });
  const filmings = new Map<string, Filming>();
  const closing = new AbortController();

  const film = async (id: string, task: FilmTask, filming: Filming): Promise<void> => {
    const { signal } = closing;
    const onPicture = (made: number): void => {
      filming.made = made;
    };
    try {
      await assertEncoder();
      await limiter.run({}, { signal }, () =>
        makeFilm({ plan: task.plan, folder: folders.path(id), draw: pictures.run, onPicture, signal }),
      );
    } catch (error) {
      if (signal.aborted) return;
      log.error({ err: error, film: id }, 'the sandbox made no video');
      await folders.fail(id, error instanceof Error ? error.message : 'unknown');
    }
    await folders.forgetRequest(id, task);
  };

  const isFull = (): boolean => filmings.size >= maxFilms;

  return {
    isFull,
    /** Makes the film unless it is being made already. With too many films under way, a later call begins it. */
    begin: (id: string, task: FilmTask): void => {
      if (filmings.has(id) || isFull() || closing.signal.aborted) return;
      const filming: Filming = { made: 0, ending: Promise.resolve() };
      filmings.set(id, filming);
      filming.ending = film(id, task, filming)
        .catch((error: unknown) =>
          log.error({ err: error, film: id }, 'a failure of the sandbox was not noted'),
        )
        .finally(() => filmings.delete(id));
    },
    /** Returns how many pictures of a film are made; 0 for one that waits. */
    made: (id: string): number => filmings.get(id)?.made ?? 0,
    /** Ends the films under way. Another process may begin them again. */
    close: async (): Promise<void> => {
      closing.abort(new Error('the sandbox is closed'));
      await Promise.all([pictures.close(), ...[...filmings.values()].map(({ ending }) => ending)]);
    },
  };
};
