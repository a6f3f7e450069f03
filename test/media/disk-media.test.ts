import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
