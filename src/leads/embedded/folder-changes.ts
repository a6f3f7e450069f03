import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '../../kit/repeat.ts';
import { hasRealSegments, searchedFiles } from './lead-folder.ts';
import { readableManifest } from './manifest.ts';

/** The interval between two checks of a folder. */
const lookMs = 250;

/** Changes when the manifest, or a file that it may name, is changed. */
export const folderStamp = async (folder: string): Promise<string> => {
  const found = await Promise.all(
    searchedFiles(folder)
      .toSorted()
      .map(async (name) => {
        const stats = await stat(join(folder, name)).catch(() => null);
        // A copy that keeps times, over a damaged file, changes only its ctime.
        return `${name} ${stats?.ino} ${stats?.mtimeMs} ${stats?.ctimeMs} ${stats?.size}`;
      }),
  );
  return found.join('\n');
};

/** Resolves when the folder's stamp differs from `stamp`, or when `signal` aborts. */
export const whenChanged = async (folder: string, stamp: string, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted && (await folderStamp(folder)) === stamp) await pause(lookMs, signal);
};

/** Runs `work` until it ends or real profiles appear, which abort its signal. Resolves in both cases. */
export const unlessReal = async (
  folder: string,
  { signal, work }: { signal: AbortSignal; work: (signal: AbortSignal) => Promise<void> },
): Promise<void> => {
  const found = new AbortController();
  const watching = setInterval(() => {
    if (holdsReal(folder)) found.abort(new Error('Real profiles are there.'));
  }, lookMs);
  try {
    await work(AbortSignal.any([signal, found.signal]));
  } catch (error) {
    if (!found.signal.aborted) throw error;
  } finally {
    clearInterval(watching);
  }
};

/**
 * Returns true if there are real profiles, or parts of them without a readable manifest: a backup that is being
 * restored, or the output of a first import. Never throws.
 */
export const holdsReal = (folder: string): boolean => {
  try {
    const manifest = readableManifest(folder);
    return manifest === null ? hasRealSegments(folder) : !manifest.synthetic;
  } catch {
    // The next step reads the folder again and reports the problem.
    return false;
  }
};
