import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createSpool, type SpoolOptions } from '../../../src/media/s3/s3-media.ts';
import { newMediaId } from '../open-test-files.ts';

const mebibyte = 1024 ** 2;
const stepBytes = 64 * mebibyte;
const { signal } = new AbortController();

let directory: string;
beforeEach(async () => {
  const parent = await mkdtemp(join(tmpdir(), 'causeway-spool-'));
  directory = join(parent, 'deep', 'spool');
  onTestFinished(() => rm(parent, { recursive: true }));
});

const open = (options: Partial<SpoolOptions> = {}) => createSpool({ directory, ...options });

const streamOf = async function* (...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
};

describe('the spool of uploads', () => {
  it('hands over size, hash and bytes as often as they are read, and removes the file afterwards', async () => {
    const whole = Buffer.from('a film in two pieces');
    const source = streamOf(whole.subarray(0, 7), whole.subarray(7));
    const answer = await open().hold(
      newMediaId(),
      { source, signal },
      async ({ sizeBytes, sha256, read }) => {
        expect(sizeBytes).toBe(whole.length);
        expect(sha256).toBe(createHash('sha256').update(whole).digest('hex'));
        for (let count = 0; count < 2; count += 1)
          expect(Buffer.concat(await Array.fromAsync(read())).equals(whole)).toBe(true);
        expect(await readdir(directory)).toHaveLength(1);
        return 'used';
      },
    );
    expect(answer).toBe('used');
    expect(await readdir(directory)).toEqual([]);
  });

  it('leaves no file when the upload or the source fails', async () => {
    const failure = new Error('it broke off');
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half of it');
      throw failure;
    };
    const use = () => Promise.reject(failure);
    for (const source of [streamOf(Buffer.from('all of it')), failing()]) {
      await expect(open().hold(newMediaId(), { source, signal }, use)).rejects.toBe(failure);
      expect(await readdir(directory)).toEqual([]);
    }
  });

  it('lets others wait while their bytes would exceed its limit', async () => {
    const spool = open({ totalBytes: 2 * stepBytes });
    const gate = Promise.withResolvers<void>();
    const entered: string[] = [];
    const holdFor = (name: string) =>
      spool.hold(newMediaId(), { source: streamOf(Buffer.from(name)), signal }, async () => {
        entered.push(name);
        await gate.promise;
      });
    const uses = [holdFor('one'), holdFor('two'), holdFor('three')];
    await expect.poll(() => entered.length).toBe(2);
    const gone = new AbortController();
    const leaving = spool.hold(
      newMediaId(),
      { source: streamOf(Buffer.from('four')), signal: gone.signal },
      () => gate.promise,
    );
    gone.abort(new Error('the job was lost'));
    await expect(leaving).rejects.toBe(gone.signal.reason);
    gate.resolve();
    await Promise.all(uses);
    expect(entered.sort()).toEqual(['one', 'three', 'two']);
  });

  it('takes no bytes when the disk is nearly full, and lets the source go', async () => {
    let freeBytes = 0;
    const spool = open({ readFree: async () => freeBytes });
    let isLetGo = false;
    const source = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.alloc(mebibyte);
      } finally {
        isLetGo = true;
      }
    };
    const use = async () => 'never';
    for (freeBytes of [0, 256 * mebibyte, 256 * mebibyte + stepBytes - 1]) {
      isLetGo = false;
      const held = spool.hold(newMediaId(), { source: source(), signal }, use);
      await expect(held).rejects.toMatchObject({ code: 'ENOSPC' });
      expect(isLetGo).toBe(true);
    }
    freeBytes = 256 * mebibyte + stepBytes;
    const kept = spool.hold(newMediaId(), { source: streamOf(Buffer.alloc(10)), signal }, async () => 'kept');
    expect(await kept).toBe('kept');
  });
});
