import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '../../kit/repeat.ts';
import { hasRealSegments, searchedFiles } from './lead-folder.ts';
import { readableManifest } from './manifest.ts';

/** How often a folder is looked at. */
const lookMs = 250;

/** What tells whether the manifest or a file it may name was changed. */
export const folderStamp = async (folder: string): Promise<string> => {
  const found = await Promise.all(
    searchedFiles(folder)
      .toSorted()
      .map(async (name) => {
        const stats = await stat(join(folder, name)).catch(() => null);
        // A copy that keeps times, over a damaged file, changes its ctime alone.
        return `${name} ${stats?.ino} ${stats?.mtimeMs} ${stats?.ctimeMs} ${stats?.size}`;
      }),
  );
  return found.join('\n');
};

/** Resolves when the folder's stamp is not `stamp` any more, or when `signal` aborts. */
export const whenChanged = async (folder: string, stamp: string, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted && (await folderStamp(folder)) === stamp) await pause(lookMs, signal);
};

/** Does `work` until it ends or real profiles are there, which abort its signal: it resolves then, too. */
export const unlessReal = async (
  folder: string,
  { signal, work }: { signal: AbortSignal; work: (signal: AbortSignal) => Promise<void> },
): Promise<void> => {
  const found = new AbortController();
  const ended = new AbortController();
  const watch = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      if (!found.signal.aborted && holdsReal(folder)) found.abort(new Error('Real profiles are there.'));
      await pause(lookMs, ended.signal);
    }
  };
  const watching = watch();
  try {
    await work(AbortSignal.any([signal, found.signal]));
  } catch (error) {
    if (!found.signal.aborted) throw error;
  } finally {
    ended.abort();
    await watching;
  }
};

/**
 * Whether real profiles are there, or a part of them where the manifest is missing or unreadable: a backup that is being
 * restored, or what a first import wrote. Never throws.
 */
export const holdsReal = (folder: string): boolean => {
  try {
    const manifest = readableManifest(folder);
    return manifest === null ? hasRealSegments(folder) : !manifest.synthetic;
  } catch {
    // The folder is read again, and told about, by what is done next.
    return false;
  }
};
