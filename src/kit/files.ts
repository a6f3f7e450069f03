import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { instead } from './errors.ts';

/** Returns the outcome of a read, or null if there is no such file or folder (ENOENT). */
export const ignoreEnoent = <T>(reading: Promise<T>): Promise<T | null> =>
  reading.catch(
    instead(null, (error) => error instanceof Error && 'code' in error && error.code === 'ENOENT'),
  );

/** Lists the names in a folder; an empty list if there is no such folder. */
export const listDirectory = async (directory: string): Promise<string[]> =>
  (await ignoreEnoent(readdir(directory))) ?? [];

/** Removes files with this ending that were last written before `olderThan` (epoch milliseconds). Returns how many. */
export const removeOldFiles = async (
  directory: string,
  { olderThan, ending = '', signal }: { olderThan: number; ending?: string; signal?: AbortSignal },
): Promise<number> => {
  let removed = 0;
  for (const name of await listDirectory(directory)) {
    signal?.throwIfAborted();
    const file = join(directory, name);
    const found = name.endsWith(ending) ? await ignoreEnoent(stat(file)) : null;
    if (found === null || found.mtimeMs >= olderThan) continue;
    await rm(file, { force: true });
    removed += 1;
  }
  return removed;
};

/** Syncs a file, or a folder: a new name is durable only then. Windows has no such call for folders and needs none. */
export const syncToDisk = async (path: string): Promise<void> => {
  if (process.platform === 'win32') return;
  await using handle = await open(path, 'r');
  await handle.sync();
};
