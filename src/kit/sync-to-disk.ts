import { open } from 'node:fs/promises';

/**
 * Waits until the disk has a file, or the names of a folder: a change of names is durable once its folder is. Windows has
 * no such call for folders and needs none, so nothing is done there.
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
