import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, constants, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ignoreEnoent } from '../../kit/ignore-enoent.ts';
import { lockKeeper } from '../embedded/keeper-lock.ts';
import { replaceFile, textOf } from '../embedded/sealed-json.ts';
import { writeWhole } from './fetch-object.ts';
import { isObjectName, manifestName, type SharedPlace } from './shared-place.ts';

/**
 * Opens a place in a folder that all machines mount. It is never created: a missing folder is a disk that is not
 * mounted. The manifest is replaced under a lock that the operating system releases with its process.
 */
export const openFolderPlace = (folder: string): SharedPlace => {
  const manifestFile = join(folder, manifestName);
  return {
    address: folder,
    readManifest: async ({ signal }) => {
      const text = await ignoreEnoent(readFile(manifestFile, { encoding: 'utf8', signal }));
      if (text !== null) return { text, tag: hash('sha256', text) };
      await stat(folder);
      return null;
    },
    replaceManifest: async (text, { tag, signal }) => {
      signal.throwIfAborted();
      // Nothing is awaited under the lock, which takes milliseconds.
      const lock = lockKeeper(folder);
      try {
        const before = textOf(manifestFile);
        if ((before === null ? null : hash('sha256', before)) !== tag) return null;
        replaceFile(manifestFile, text);
        return hash('sha256', text);
      } finally {
        lock.release();
      }
    },
    assertReplaceable: async () => access(folder, constants.R_OK | constants.W_OK | constants.X_OK),
    get: async (name) => createReadStream(join(folder, name)),
    put: (name, source, { signal }) =>
      writeWhole(join(folder, name), (sink) => pipeline(source, sink, { signal })),
    remove: async (name) => rm(join(folder, name), { force: true }),
    listOld: async ({ olderThan }) => {
      const old: string[] = [];
      for (const name of await readdir(folder)) {
        const found = isObjectName(name) ? await ignoreEnoent(stat(join(folder, name))) : null;
        if (found !== null && found.mtimeMs < olderThan) old.push(name);
      }
      return old;
    },
    close: async () => undefined,
  };
};
