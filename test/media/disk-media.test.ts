import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDiskMedia } from '../../src/media/disk-media.ts';
import { newMediaId, readAll } from './open-test-files.ts';

const never = new AbortController().signal;

describe('media on a volume that is not mounted', () => {
  it('do not count as lost, and are found again when it is mounted', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'causeway-volume-'));
    onTestFinished(() => rm(parent, { recursive: true, force: true }));
    const folder = join(parent, 'media');
    const files = createDiskMedia(folder);
    const id = newMediaId();
    const bytes = Buffer.from('a picture');
    await files.write(id, bytes, { contentType: 'image/png', signal: never });

    await rename(folder, join(parent, 'unplugged'));
    for (const isMountPointThere of [false, true]) {
      if (isMountPointThere) await mkdir(folder);
      await expect(files.read(id)).rejects.toThrow(/check that the volume is mounted/);
      await expect(files.size(id)).rejects.toThrow(/check that the volume is mounted/);
      await expect(files.remove(id)).rejects.toThrow(/check that the volume is mounted/);
    }

    await rm(folder, { recursive: true });
    await rename(join(parent, 'unplugged'), folder);
    expect(await readAll(files, id)).toEqual(bytes);
    await files.remove(id);
    expect(await files.size(id)).toBeNull();
  });
});

describe('media on a disk that is nearly full', () => {
  it('are refused, and leave no file; a little one has room beside what the ledger needs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'causeway-full-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const megabyte = 1024 ** 2;
    let free = 0;
    const files = createDiskMedia(folder, { readFree: async () => free });
    const write = (source: Uint8Array | AsyncIterable<Uint8Array>) =>
      files.write(newMediaId(), source, { contentType: 'video/mp4', signal: never });
    for (free of [0, (256 + 64) * megabyte - 1])
      for (const source of [Buffer.alloc(10), Readable.from([Buffer.alloc(10)])])
        await expect(write(source)).rejects.toMatchObject({ code: 'ENOSPC' });
    free = (256 + 64) * megabyte;
    const filling = (async function* () {
      for (;;) {
        yield await Promise.resolve(Buffer.alloc(32 * megabyte));
        free -= 32 * megabyte;
      }
    })();
    await expect(write(filling)).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
    free = (256 + 64) * megabyte;
    expect(await write(Buffer.alloc(10))).toBe(10);
  });
});
