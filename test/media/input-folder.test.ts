import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, describe, it, onTestFinished } from 'vitest';
import { createInputFolder, type InputFolder } from '../../src/media/input-folder.ts';

const { signal } = new AbortController();

const openFolder = async (totalBytes = 100): Promise<{ directory: string; folder: InputFolder }> => {
  const parent = await mkdtemp(join(tmpdir(), 'causeway-inputs-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const directory = join(parent, 'deep', 'inputs');
  return { directory, folder: createInputFolder({ directory, totalBytes }) };
};

describe('the folder of inputs under way', () => {
  it('keeps a file while it is used, and removes it also after a failure', async () => {
    const { directory, folder } = await openFolder();
    const holding = (answer: () => Promise<string>): Promise<string> =>
      folder.hold({ maxBytes: 10, signal }, async (file) => {
        await writeFile(file, 'a film', { flag: 'wx' });
        expect(await readdir(directory)).toHaveLength(1);
        return answer();
      });
    expect(await holding(async () => 'used')).toBe('used');
    expect(await readdir(directory)).toEqual([]);
    const failure = new Error('it is no video');
    await expect(holding(() => Promise.reject(failure))).rejects.toBe(failure);
    expect(await readdir(directory)).toEqual([]);
  });

  it('never exceeds its limit: others wait and enter one after the other', async () => {
    const { folder } = await openFolder(100);
    const gate = Promise.withResolvers<void>();
    let held = 0;
    let most = 0;
    const uses = Array.from({ length: 7 }, () =>
      folder.hold({ maxBytes: 40, signal }, async () => {
        held += 1;
        most = Math.max(most, held);
        await gate.promise;
        held -= 1;
      }),
    );
    await expect.poll(() => held).toBe(2);
    gate.resolve();
    await Promise.all(uses);
    expect(most).toBe(2);
  });

  it('takes nobody in for whose file the disk has no room', async () => {
    const { directory } = await openFolder();
    const megabyte = 1024 ** 2;
    const folder = createInputFolder({ directory, readFree: async () => (256 + 150) * megabyte });
    const tooLarge = folder.hold({ maxBytes: 151 * megabyte, signal }, async () => 'never');
    await expect(tooLarge).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await folder.hold({ maxBytes: 150 * megabyte, signal }, async () => 'next')).toBe('next');
  });

  it('stops waiting for a client that has gone', async () => {
    const { folder } = await openFolder(100);
    const first = Promise.withResolvers<void>();
    const used = folder.hold({ maxBytes: 100, signal }, () => first.promise);
    const gone = new AbortController();
    const waiting = folder.hold({ maxBytes: 100, signal: gone.signal }, async () => 'never');
    gone.abort(new Error('the client has gone'));
    await expect(waiting).rejects.toBe(gone.signal.reason);
    first.resolve();
    await used;
    expect(await folder.hold({ maxBytes: 100, signal }, async () => 'next')).toBe('next');
  });

  it('loses in a sweep what a killed process left, and nothing that is in use', async () => {
    const { directory, folder } = await openFolder();
    await folder.sweep();
    await folder.hold({ maxBytes: 10, signal }, async (file) => {
      await writeFile(file, 'in use');
      const left = join(directory, 'left');
      await writeFile(left, 'of a process that was killed');
      const before = new Date(Date.now() - 2 * 3_600_000);
      await utimes(left, before, before);
      await folder.sweep();
      expect(await readdir(directory)).toHaveLength(1);
    });
  });
});
