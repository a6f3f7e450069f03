import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { listDirectory } from './list-directory.ts';

/** Removes files last written more than `ageMs` ago from a folder, which a killed process left behind. */
export const removeOldFiles = async (directory: string, ageMs: number): Promise<void> => {
  for (const name of await listDirectory(directory)) {
    const file = join(directory, name);
    const found = await stat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > ageMs) await rm(file, { force: true });
  }
};
