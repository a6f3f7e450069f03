import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from './names-in.ts';

/** Removes the files of a folder that were last written more than `ageMs` ago, as a killed process leaves them behind. */
export const removeOldFiles = async (directory: string, ageMs: number): Promise<void> => {
  for (const name of await namesIn(directory)) {
    const file = join(directory, name);
    const found = await stat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > ageMs) await rm(file, { force: true });
  }
};
