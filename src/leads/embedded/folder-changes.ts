import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '../../repeat.ts';
import { readManifest } from './manifest.ts';

/** How often a folder is looked at. */
const lookMs = 250;

/** What tells whether the manifest or a file it may name was changed. */
export const folderStamp = async (folder: string): Promise<string> => {
  const names = (await readdir(folder)).filter((name) => /^(?:current\.json$|base-|delta-|gone-)/.test(name));
  const found = await Promise.all(
    names.sort().map(async (name) => {
      const stats = await stat(join(folder, name)).catch(() => null);
      return `${name} ${stats?.ino} ${stats?.mtimeMs} ${stats?.size}`;
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
      if (!found.signal.aborted && hasReal(folder)) found.abort(new Error('Real profiles were imported.'));
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

/** Whether real profiles are there, as far as can be read. */
export const hasReal = (folder: string): boolean => {
  try {
    return readManifest(folder)?.synthetic === false;
  } catch {
    // It is read again, and told about, when the work has ended.
    return false;
  }
};
