import { statfs } from 'node:fs/promises';

/** A disk with less is nearly full. */
const lowBytes = 1024 ** 3;

/** Reads how much room is on the disk of a path. `type`: the number of its file system (statfs(2)). */
export const readDisk = async (path: string): Promise<{ free: number; isLow: boolean; type: number }> => {
  const { type, bsize, bavail } = await statfs(path);
  const free = bavail * bsize;
  return { free, isLow: free < lowBytes, type };
};

/** Returns the free bytes of the disk with a folder. */
export type ReadFree = (folder: string) => Promise<number>;

const readFreeBytes: ReadFree = async (folder) => (await readDisk(folder)).free;

/** Stays free on a disk, because the ledger is usually on the same one. */
const keptFreeBytes = 256 * 1024 ** 2;

/** Throws ENOSPC unless the disk of a folder has room for `bytes` beside what stays free. */
export const assertRoom = async (
  folder: string,
  bytes: number,
  readFree: ReadFree = readFreeBytes,
): Promise<void> => {
  if ((await readFree(folder)) < keptFreeBytes + bytes)
    throw Object.assign(new Error(`the disk of ${folder} is nearly full`), { code: 'ENOSPC' });
};

/** Room is asked for in steps, because the size of a stream is known only at its end. */
export const roomStepBytes = 64 * 1024 ** 2;

/** Yields the chunks of what is written to a folder. Throws ENOSPC before its disk is full. */
export const withRoom = async function* (
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  folder: string,
  readFree?: ReadFree,
): AsyncGenerator<Uint8Array, void, undefined> {
  let sizeBytes = 0;
  let askedBytes = 0;
  for await (const chunk of source) {
    sizeBytes += chunk.byteLength;
    for (; askedBytes < sizeBytes; askedBytes += roomStepBytes)
      await assertRoom(folder, roomStepBytes, readFree);
    yield chunk;
  }
};
