import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/kit/log.ts';
import { createMediaFiles } from '../../src/media/create-media-files.ts';
import { newMediaId, readAll } from './open-test-files.ts';
import { startS3Server } from './s3-server.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-media-'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

const open = (environment: Record<string, string>) =>
  createMediaFiles(readConfig({ DATA_DIR: folder, ...environment }, null), { log: silentLog });

it('media are kept in the data folder, or in the folder that the settings name', async () => {
  expect((await open({})).place).toBe(join(folder, 'media'));
  expect((await open({ MEDIA_DIR: join(folder, 'else') })).place).toBe(join(folder, 'else'));
});

it('media are kept in the bucket that the settings name, under its prefix', async () => {
  const s3 = await startS3Server();
  const files = await open({
    MEDIA_URL: `s3://${s3.config.bucket}/a/b`,
    S3_ENDPOINT: s3.config.endpoint,
    S3_ACCESS_KEY_ID: s3.config.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.config.secretAccessKey,
  });
  expect(files.place).toBe(`s3://${s3.config.bucket}/a/b/`);
  const id = newMediaId();
  const options = { contentType: 'image/png', signal: AbortSignal.timeout(10_000) };
  await files.write(id, Buffer.from('bytes'), options);
  expect(String(await readAll(files, id))).toBe('bytes');
  expect(s3.requests).toContain(`PUT /${s3.config.bucket}/a/b/${id}`);
  await files.close();
  await s3.stop();
});

it('a bucket that cannot be reached does not prevent the start', async () => {
  const files = await open({
    MEDIA_URL: 's3://some-bucket',
    S3_ENDPOINT: 'http://127.0.0.1:9',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
  });
  expect(files.place).toBe('s3://some-bucket/');
  await files.close();
});
