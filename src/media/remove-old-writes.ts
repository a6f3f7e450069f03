import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreEnoent, listDirectory } from '../kit/files.ts';

/** The name of a file while it is written. */
export const unfinishedName = (id: string): string => `${id}.tmp`;

/** Removes the unfinished files of a folder that were last written before `olderThan`. Returns how many. */
export const removeOldWrites = async (
  folder: string,
  { olderThan, signal }: { olderThan: number; signal: AbortSignal },
): Promise<number> => {
  let removed = 0;
  for (const name of await listDirectory(folder)) {
    signal.throwIfAborted();
    if (!name.endsWith('.tmp')) continue;
    const found = await ignoreEnoent(stat(join(folder, name)));
    if (found === null || found.mtimeMs >= olderThan) continue;
    await rm(join(folder, name), { force: true });
    removed += 1;
  }
  return removed;
};
