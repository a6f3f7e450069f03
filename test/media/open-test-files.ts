import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createDiskMedia } from '../../src/media/disk-media.ts';
import type { ByteRange, MediaFiles } from '../../src/media/media-files.ts';
import { createS3Media } from '../../src/media/s3/s3-media.ts';
import type { S3Config } from '../../src/http/s3/s3-settings.ts';
import { listDirectory } from '../../src/kit/files.ts';
import { silentLog } from '../../src/kit/log.ts';
import { randomBase62 } from '../../src/kit/ids.ts';
import { startS3Server } from './s3-server.ts';

/** A place for media of its own. */
export interface TestFiles {
  files: MediaFiles;
  /** Names of everything that is kept, also of unfinished writes; without the mark of the place. */
  contents(): Promise<string[]>;
  /** Leaves what a write leaves whose process died `ageMs` ago. */
  plantLeftover(id: string, ageMs: number): Promise<void>;
  /** Opens an empty place beside it. */
  openAnother(): MediaFiles;
  /** Opens a place that is not there. */
  openBroken(): Promise<MediaFiles>;
  remove(): Promise<void>;
}

/** All the bytes of a medium, or of a range of it; null when there are none. */
export const readAll = async (
  files: Pick<MediaFiles, 'read'>,
  id: string,
  range?: ByteRange,
): Promise<Buffer | null> => {
  const stream = await files.read(id, range === undefined ? {} : { range });
  return stream === null ? null : buffer(stream);
};

/** Puts an unfinished file there that was last written `ageMs` ago. */
const plantIn = async (folder: string, id: string, ageMs: number): Promise<void> => {
  const path = join(folder, `${id}.tmp`);
  await mkdir(folder, { recursive: true });
  await writeFile(path, 'half of it');
  await utimes(path, new Date(), new Date(Date.now() - ageMs));
};

export const newMediaId = (): string => randomBase62(43);

export const openDiskFiles = async (): Promise<TestFiles> => {
  const parent = await mkdtemp(join(tmpdir(), 'causeway-media-'));
  const folder = join(parent, 'deep', 'media');
  const files = createDiskMedia(folder);
  return {
    files,
    contents: async () => {
      const entries = await readdir(parent, { recursive: true, withFileTypes: true });
      const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
      return names.filter((name) => name !== 'used-since');
    },
    plantLeftover: (id, ageMs) => plantIn(join(folder, 'tmp'), id, ageMs),
    openAnother: () => createDiskMedia(join(parent, 'another')),
    openBroken: async () => {
      const file = join(parent, 'no folder');
      await writeFile(file, '');
      return createDiskMedia(file);
    },
    remove: () => rm(parent, { recursive: true, force: true }),
  };
};

export const openS3Files = async (): Promise<TestFiles> => {
  const server = await startS3Server();
  const { spool } = server;
  const open = (config: Partial<S3Config>): MediaFiles =>
    createS3Media({ ...server.config, ...config }, { log: silentLog, spool });
  const files = open({});
  return {
    files,
    contents: async () => {
      if (server.falseBodies.length > 0) throw new Error(`a wrong hash of ${server.falseBodies.join()}`);
      const objects = (await server.contents()).filter((name) => !name.includes('used-since'));
      return [...objects, ...(await listDirectory(spool.directory))];
    },
    plantLeftover: (id, ageMs) => plantIn(spool.directory, id, ageMs),
    openAnother: () => open({ prefix: 'another/' }),
    openBroken: async () => open({ bucket: 'another-bucket' }),
    remove: async () => {
      await files.close();
      await server.stop();
    },
  };
};
