import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openFolderPlace } from '../../../src/leads/shared/folder-place.ts';
import { openS3Place } from '../../../src/leads/shared/s3-place.ts';
import type { SharedPlace } from '../../../src/leads/shared/shared-place.ts';
import { startS3Server } from '../../media/s3-server.ts';
import { createConditionalWrites } from './conditional-writes.ts';
import { temporaryFolder } from './fleet.ts';

/** A place that tests can look into and take away. */
export interface TestPlace {
  open(): SharedPlace;
  /** The names of all objects. */
  objects(): Promise<string[]>;
  /** Replaces an object behind everybody's back. */
  overwrite(name: string, bytes: Uint8Array): Promise<void>;
  read(name: string): Promise<Buffer>;
  takeAway(): Promise<void>;
  bringBack(): Promise<void>;
}

const openTestFolder = async (): Promise<TestPlace> => {
  const folder = join(await temporaryFolder(), 'place');
  await mkdir(folder);
  return {
    open: () => openFolderPlace(folder),
    objects: async () => (await readdir(folder)).filter((name) => name !== 'keeper.lock').sort(),
    overwrite: (name, bytes) => writeFile(join(folder, name), bytes),
    read: (name) => readFile(join(folder, name)),
    takeAway: () => rename(folder, `${folder}-away`),
    bringBack: () => rename(`${folder}-away`, folder),
  };
};

const openTestBucket = async (): Promise<TestPlace> => {
  const s3 = await startS3Server();
  onTestFinished(() => s3.stop());
  const conditional = createConditionalWrites(s3);
  s3.intercept = conditional;
  const suffix = '._S3rver_object';
  const fileOf = (name: string): string =>
    join(s3.directory, s3.config.bucket, s3.config.prefix, `${name}${suffix}`);
  return {
    open: () => openS3Place(s3.config, { pauseMs: 1 }),
    objects: async () =>
      (await s3.contents()).map((name) => name.slice(s3.config.prefix.length, -suffix.length)).sort(),
    overwrite: (name, bytes) => writeFile(fileOf(name), bytes),
    read: (name) => readFile(fileOf(name)),
    takeAway: async () => {
      s3.intercept = (request) => {
        request.socket.destroy();
        return true;
      };
    },
    bringBack: async () => {
      s3.intercept = conditional;
    },
  };
};

export const testPlaces = [
  { kind: 'a folder', openTestPlace: openTestFolder },
  { kind: 'a bucket', openTestPlace: openTestBucket },
] as const;
