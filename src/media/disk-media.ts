import { constants, createReadStream } from 'node:fs';
import { access, mkdir, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type ReadFree, withRoom } from '../kit/disk.ts';
import { ignoreEnoent, removeOldFiles, syncToDisk } from '../kit/files.ts';
import { checkedMediaId, unfinished, type MediaFiles } from './media-files.ts';
import { untilAborted } from '../kit/streams.ts';

/** An empty file. Its time is the first use of the folder. */
export const markName = 'used-since';

/** Keeps media in 62 * 62 folders by the first two characters of the id. Bytes are written to `tmp`, and then moved. */
export const createDiskMedia = (
  directory: string,
  { readFree }: { readFree?: ReadFree } = {},
): MediaFiles => {
  const root = resolve(directory);
  const temporaryFolder = join(root, 'tmp');
  const makeFolder = createMakeFolder();

  const placeOf = (id: string): { folder: string; file: string; temporary: string } => {
    const folder = join(root, checkedMediaId(id).slice(0, 2));
    return { folder, file: join(folder, id), temporary: join(temporaryFolder, id + unfinished) };
  };

  /** Throws if a folder is missing: none is ever removed, so the volume is not mounted, and the bytes are not lost. */
  const assertMounted = async (folder: string): Promise<void> => {
    if ((await ignoreEnoent(stat(folder))) === null)
      throw new Error(
        `the media folder ${root} is missing; check that the volume is mounted and MEDIA_DIR is right`,
      );
  };

  return {
    place: root,
    write: async (id, source, { signal }) => {
      const { folder, file, temporary } = placeOf(id);
      signal.throwIfAborted();
      await mkdir(temporaryFolder, { recursive: true });
      await makeFolder(folder);
      const handle = await open(temporary, 'wx', 0o600);
      try {
        const chunks = source instanceof Uint8Array ? [source] : untilAborted(source, signal);
        const sizeBytes = await copyInto(handle, withRoom(chunks, temporaryFolder, readFree), signal);
        await rename(temporary, file);
        await syncToDisk(folder);
        return sizeBytes;
      } catch (error) {
        // The sweep removes files that cannot be removed now.
        await Promise.allSettled([rm(temporary, { force: true }), rm(file, { force: true })]);
        throw error;
      }
    },
    size: async (id) => {
      const { folder, file } = placeOf(id);
      const found = await ignoreEnoent(stat(file));
      if (found === null) await assertMounted(folder);
      return found?.size ?? null;
    },
    read: async (id, { range, sizeBytes = 0, signal } = {}) => {
      const { folder, file } = placeOf(id);
      const handle = await ignoreEnoent(open(file, 'r'));
      if (handle === null) await assertMounted(folder);
      if (handle === null || (await handle.stat()).size < sizeBytes || signal?.aborted === true) {
        await handle?.close();
        // The error of a stream that nobody reads yet would end the process.
        signal?.throwIfAborted();
        return null;
      }
      return createReadStream('', { fd: handle, ...range, ...(signal && { signal }) });
    },
    remove: async (id) => {
      const { folder, file, temporary } = placeOf(id);
      await rm(temporary, { force: true });
      await rm(file, { force: true });
      const isThere = await ignoreEnoent(syncToDisk(folder).then(() => true));
      // Without its folder the medium may never have been written. Without `tmp` nothing was written here.
      if (isThere === null) await assertMounted(temporaryFolder);
    },
    removeLeftovers: (options) => removeOldFiles(temporaryFolder, { ...options, ending: unfinished }),
    check: async () => {
      await mkdir(root, { recursive: true });
      await access(root, constants.R_OK | constants.W_OK);
    },
    usedSince: async () => {
      await mkdir(root, { recursive: true });
      await using mark = await open(join(root, markName), 'a', 0o600);
      return (await mark.stat()).mtimeMs;
    },
    close: async () => {},
  };
};

/** Copies the chunks to the disk and closes the file. Returns the size in bytes. */
const copyInto = async (
  file: FileHandle,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<number> => {
  await using handle = file;
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    await handle.writeFile(chunk);
    sizeBytes += chunk.byteLength;
  }
  await handle.sync();
  signal.throwIfAborted();
  return sizeBytes;
};

/** Creates folders that survive a power cut: syncs their parents once, as another process may have just made them. */
const createMakeFolder = (): ((folder: string) => Promise<void>) => {
  const synced = new Set<string>();
  return async (folder) => {
    const firstMade = await mkdir(folder, { recursive: true });
    if (firstMade === undefined && synced.has(folder)) return;
    const last = firstMade === undefined ? dirname(folder) : dirname(firstMade);
    for (let path = dirname(folder); ; path = dirname(path)) {
      await syncToDisk(path);
      if (path === last || path === dirname(path)) break;
    }
    synced.add(folder);
  };
};
