import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createMovMaker } from '../../../src/providers/video/to-mov.ts';
import { noAbort } from '../collect.ts';
import { collectBytes } from './collect-bytes.ts';
import { readClip } from './read-clip.ts';

const stepBytes = 64 * 1024 ** 2;

it('a MOV file is not made where the disk has no room for the MP4 or for itself, and nothing stays', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'causeway-mov-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const clip = await readClip('plain.mp4');
  const kept = 256 * 1024 ** 2;
  for (const room of [[stepBytes - 1], [stepBytes, clip.length - 1]]) {
    const movMaker = createMovMaker({ directory, readFree: async () => kept + (room.shift() ?? 0) });
    onTestFinished(() => movMaker.close());
    const body = (async function* () {
      yield await Promise.resolve(clip);
    })();
    const made = movMaker.toMov({ contentType: 'video/mp4', body }, noAbort());
    await expect(collectBytes(made.body)).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(room).toEqual([]);
    expect(await readdir(directory)).toEqual([]);
  }
});
