import { open } from 'node:fs/promises';

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
