import { statfs } from 'node:fs/promises';

/** A disk with less is nearly full. */
const lowBytes = 1024 ** 3;

/** Reads how much room is on the disk of a path. `type`: the number of its file system (statfs(2)). */
export const readDisk = async (path: string): Promise<{ free: number; isLow: boolean; type: number }> => {
  const { type, bsize, bavail } = await statfs(path);
  const free = bavail * bsize;
  return { free, isLow: free < lowBytes, type };
};
