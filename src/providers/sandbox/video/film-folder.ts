import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listDirectory } from '../../../kit/list-directory.ts';
import { ignoreEnoent } from '../../../kit/ignore-enoent.ts';
import type { SandboxTriggers } from '../triggers.ts';
import { filmFile } from './make-film.ts';
import type { FilmImage, FilmPlan } from './plan-film.ts';

/** A task, with all that another process needs to continue it. */
export interface FilmTask {
  plan: FilmPlan;
  triggers: SandboxTriggers;
  /** Epoch milliseconds. */
  startedAt: number;
}

const idPattern = /^[0-9A-Za-z]{20,64}$/;
const taskFile = 'task.json';
const problemFile = 'problem.txt';

export type FilmFolders = ReturnType<typeof createFilmFolders>;

/** The files of the sandbox's films, one folder for each task. */
export const createFilmFolders = (directory: string) => {
  /** Returns the path of a task's folder, or of a file in it. */
  const path = (id: string, file = ''): string => {
    if (!idPattern.test(id)) throw new RangeError('a film id is 20 to 64 base62 characters');
    return join(directory, id, file);
  };
  const has = async (id: string, file: string): Promise<boolean> => (await modified(path(id, file))) !== null;

  return {
    path,
    has,
    create: async (id: string, task: FilmTask, images: readonly FilmImage[]): Promise<void> => {
      await mkdir(path(id), { recursive: true });
      for (const { file, bytes } of images) await writeFile(path(id, file), bytes);
      await replace(path(id, taskFile), JSON.stringify(task));
    },
    /** Null when there is no such task. The other functions expect an existing task. */
    read: async (id: string): Promise<FilmTask | null> => {
      if (!idPattern.test(id)) return null;
      const text = await readText(path(id, taskFile));
      return text === null ? null : (JSON.parse(text) as FilmTask);
    },
    /** Removes the words and images of a task, which are useless once its film is made or has failed. */
    forgetRequest: async (id: string, task: FilmTask): Promise<void> => {
      for (const shot of task.plan.shots)
        if (shot.kind === 'image') await rm(path(id, shot.file), { force: true });
      await replace(path(id, taskFile), JSON.stringify(withoutWords(task)));
    },
    /** Marks a task as failed. The text is for the log. */
    fail: (id: string, problem: string) => replace(path(id, problemFile), problem),
    /** Null while it has not failed. */
    problem: (id: string) => readText(path(id, problemFile)),
    /** Lets a film count as made at `madeAt` (epoch milliseconds) when old ones are removed. */
    expire: (id: string, madeAt: number) =>
      ignoreEnoent(utimes(path(id, filmFile), madeAt / 1_000, madeAt / 1_000)),
    /** Removes films made before `before` (epoch milliseconds), and tasks without a film that began before it. */
    sweep: async (before: number): Promise<void> => {
      for (const id of (await listDirectory(directory)).filter((name) => idPattern.test(name))) {
        // The task's file may be written again after its film was fetched, to remove the words.
        const changedAt =
          (await modified(path(id, filmFile))) ??
          (await modified(path(id, taskFile))) ??
          (await modified(path(id)));
        if (changedAt !== null && changedAt < before) await rm(path(id), { recursive: true, force: true });
      }
    },
  };
};

/** Returns the task without its prompt. */
export const withoutWords = (task: FilmTask): FilmTask => ({
  ...task,
  plan: { ...task.plan, card: { caption: '', seed: '' } },
});

/** Replaces a file at once, so that no reader sees half of it. */
const replace = async (file: string, text: string): Promise<void> => {
  await writeFile(`${file}.tmp`, text);
  await rename(`${file}.tmp`, file);
};

const readText = (file: string): Promise<string | null> => ignoreEnoent(readFile(file, 'utf8'));
const modified = (file: string): Promise<number | null> =>
  ignoreEnoent(stat(file).then(({ mtimeMs }) => mtimeMs));
