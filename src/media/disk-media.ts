import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/** Where the bytes of results are kept. Ids are ours: unguessable base62, never a caller's text. */
export interface MediaFiles {
  /** Durable when it resolves: written beside, fsync'd and renamed into place. */
  write(id: string, bytes: Uint8Array): Promise<void>;
  /** Null when there are no such bytes. `end` is inclusive. */
  read(id: string, range?: { start: number; end: number }): Promise<Readable | null>;
  remove(id: string): Promise<void>;
}

const idPattern = /^[0-9A-Za-z]{20,64}$/;

/** Media on the local disk, in 62 * 62 folders by the id's first characters. */
export const createDiskMedia = (directory: string): MediaFiles => {
  const place = (id: string): { folder: string; file: string } => {
    if (!idPattern.test(id)) throw new RangeError('a media id is 20 to 64 base62 characters');
    const folder = join(directory, id.slice(0, 2));
    return { folder, file: join(folder, id) };
  };

  return {
    write: async (id, bytes) => {
      const { folder, file } = place(id);
      await mkdir(folder, { recursive: true });
      const temporary = `${file}.tmp`;
      const handle = await open(temporary, 'wx', 0o600);
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, file);
      await syncFolder(folder);
    },
    read: async (id, range) => {
      const { file } = place(id);
      try {
        const handle = await open(file, 'r');
        return createReadStream('', { fd: handle, ...range });
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
        throw error;
      }
    },
    remove: async (id) => rm(place(id).file, { force: true }),
  };
};

/** A rename is durable once its folder is; Windows has no such call and needs none. */
const syncFolder = async (folder: string): Promise<void> => {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
