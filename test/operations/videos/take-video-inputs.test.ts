import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FetchInput } from '../../../src/media/fetch-input.ts';
import { createInputFolder } from '../../../src/media/input-folder.ts';
import type { StreamInputOptions } from '../../../src/media/stream-input.ts';
import type { AccountCall, Services } from '../../../src/operations/call.ts';
import { noAbort } from '../../providers/collect.ts';
import { takeVideoInputs } from '../../../src/operations/videos/take-video-inputs.ts';

const measuring = vi.hoisted(() => Promise.withResolvers<{ file: string; signal?: AbortSignal }>());

/** A measure that takes for ever, unless it is told that nobody waits for it. */
vi.mock('../../../src/providers/video/measure-video.ts', () => ({
  measureVideo: (file: string, signal?: AbortSignal) => {
    measuring.resolve({ file, ...(signal === undefined ? {} : { signal }) });
    return new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
    );
  },
}));

it('the inputs of a video are saved while the memory for them is reserved', async () => {
  let reserved = 0;
  const counts: number[] = [];
  const fetchInput: FetchInput = async (_url, { totalMs }, use) => {
    expect(totalMs).toBe(60_000);
    reserved += 1;
    await Promise.resolve();
    const result = await use({ contentType: 'image/png', bytes: Buffer.from('a picture') });
    reserved -= 1;
    return result;
  };
  const save = async () => {
    counts.push(reserved);
    await Promise.resolve();
    return { id: `${counts.length}`, sizeBytes: 9 };
  };
  const call = { caller: { accountId: 'account' }, signal: noAbort() } as unknown as AccountCall;
  const services = { fetchInput, media: { save } } as unknown as Services;
  const named = Array.from({ length: 9 }, (_, index) => ({
    role: 'reference_image' as const,
    url: 'https://example.com/picture',
    param: `content.${index}`,
  }));
  expect(await takeVideoInputs(named, call, services)).toHaveLength(9);
  expect(counts).toHaveLength(9);
  expect(Math.min(...counts)).toBeGreaterThan(0);
});

describe('taking in a reference video', () => {
  it('ends when its client goes, also while it is being measured, and leaves no file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'causeway-inputs-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const gone = new AbortController();
    const call = { caller: { accountId: 'account' }, signal: gone.signal } as unknown as AccountCall;
    const services = {
      inputFolder: createInputFolder({ directory }),
      streamInput: async (_url: string, { accountId, totalMs }: StreamInputOptions) => {
        expect(totalMs).toBe(60_000);
        // Else one account could take every place for downloads.
        expect(accountId).toBe('account');
        return { contentType: 'video/mp4', source: Buffer.from('a film') };
      },
      store: { findMadeClip: async () => null },
      media: { discard: async () => {}, save: async () => expect.unreachable() },
    } as unknown as Services;
    const named = { role: 'reference_video', url: 'https://example.com/film', param: 'content.0' } as const;
    const taking = takeVideoInputs([named], call, services);
    taking.catch(() => {});
    const { file } = await measuring.promise;
    expect(await readdir(directory)).toHaveLength(1);
    expect(file.startsWith(directory)).toBe(true);
    gone.abort(new Error('the client has gone'));
    await expect(taking).rejects.toBe(gone.signal.reason);
    expect(await readdir(directory)).toEqual([]);
  });
});
