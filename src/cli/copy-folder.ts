import { copyFile, mkdir, readdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreEnoent } from '../kit/ignore-enoent.ts';
import { syncToDisk } from '../kit/sync-to-disk.ts';

/** How much was copied. */
export interface Copied {
  files: number;
  bytes: number;
}

/**
 * Copies `from` to the new folder `to` with the times of its files, and waits until the disk has them. Leaves out names at
 * the top that are not `isMeant`, and what goes while it copies. Answers null where there is no such folder.
 */
export const copyFolder = async (
  { from, to }: { from: string; to: string },
  isMeant: (name: string) => boolean = () => true,
): Promise<Copied | null> => {
  const entries = await ignoreEnoent(readdir(from, { withFileTypes: true }));
  if (entries === null) return null;
  await mkdir(to);
  const copied: Copied = { files: 0, bytes: 0 };
  for (const entry of entries.filter(({ name }) => isMeant(name))) {
    const paths = { from: join(from, entry.name), to: join(to, entry.name) };
    const part = entry.isDirectory() ? await copyFolder(paths) : await copyOneFile(paths);
    copied.files += part?.files ?? 0;
    copied.bytes += part?.bytes ?? 0;
  }
  await syncToDisk(to);
  return copied;
};

/** Copies a file as `copyFolder` does. */
export const copyOneFile = async ({ from, to }: { from: string; to: string }): Promise<Copied | null> => {
  const found = await ignoreEnoent(copyFile(from, to).then(() => stat(from)));
  if (found === null) return null;
  await utimes(to, found.atime, found.mtime);
  await syncToDisk(to);
  return { files: 1, bytes: found.size };
};
