import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Returns the outcome of a read, or null if there is no such file or folder (ENOENT). */
export const ignoreEnoent = async <T>(reading: Promise<T>): Promise<T | null> => {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
};

/** Lists the names in a folder; an empty list if there is no such folder. */
export const listDirectory = async (directory: string): Promise<string[]> =>
  (await ignoreEnoent(readdir(directory))) ?? [];

/** Removes files last written more than `ageMs` ago from a folder, which a killed process left behind. */
export const removeOldFiles = async (directory: string, ageMs: number): Promise<void> => {
  for (const name of await listDirectory(directory)) {
    const file = join(directory, name);
    const found = await stat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > ageMs) await rm(file, { force: true });
  }
};

/**
 * Syncs a file, or the names in a folder, to the disk. A new or changed name is durable only after its folder is
 * synced. Does nothing on Windows, which has no such call for folders and needs none.
 */
export const syncToDisk = async (path: string): Promise<void> => {
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
