import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMediaLibrary, type MediaLibrary, type SaveMediaInput } from '../../src/media/media-library.ts';
import type { Media, Store } from '../../src/store/store.ts';
import { addAccount, start } from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';
import { openDiskFiles, readAll, type TestFiles } from './open-test-files.ts';

describe.each(testEngines())('the media library on $kind', ({ create }) => {
  let test: TestStore;
  let place: TestFiles;
  let library: MediaLibrary;
  let accountId: string;

  const libraryOver = (store: Store): MediaLibrary =>
    createMediaLibrary({
      store,
      files: place.files,
      clock: { now: () => start },
      publicUrl: () => 'https://gateway.example',
    });

  beforeAll(async () => {
    [test, place] = await Promise.all([create(), openDiskFiles()]);
    library = libraryOver(test.store);
  });
  afterAll(async () => {
    await Promise.all([test.remove(), place.remove()]);
  });
  beforeEach(async () => {
    ({ accountId } = await addAccount(test.store));
  });

  /** The account's media whose time is over by then. */
  const expiredAt = async (now: number): Promise<Media[]> =>
    (await test.store.listExpiredMedia({ now, limit: 1_000 })).filter(
      (media) => media.accountId === accountId,
    );

  const image = (changes: Partial<SaveMediaInput> = {}): SaveMediaInput => ({
    accountId,
    role: 'image',
    contentType: 'image/png',
    source: Buffer.from('an image'),
    signal: AbortSignal.timeout(10_000),
    ...changes,
  });

  it('saves bytes under an id that nobody can guess, and reads them back', async () => {
    const saved = await library.save(image());
    expect(saved).toMatchObject({ role: 'image', contentType: 'image/png', sizeBytes: 8 });
    expect(saved.id).toMatch(/^[0-9A-Za-z]{43}$/);
    expect(saved.url).toBe(`https://gateway.example/results/${saved.id}.png`);
    expect(library.urlOf(saved)).toBe(saved.url);
    expect(await library.size(saved.id)).toBe(8);
    expect(String(await readAll(library, saved.id))).toBe('an image');
    expect(String(await readAll(library, saved.id, { start: 3, end: 7 }))).toBe('image');
    expect((await library.save(image())).id).not.toBe(saved.id);
  });

  it('reserves a row before the first byte, which expires after a day unless a job takes it', async () => {
    const rows: unknown[] = [];
    const source = async function* (): AsyncGenerator<Uint8Array> {
      rows.push(...(await expiredAt(start + 86_400_000)));
      yield Buffer.from('a video');
    };
    const saved = await library.save(image({ role: 'video', contentType: 'video/mp4', source: source() }));
    expect(rows).toMatchObject([{ id: saved.id, jobId: null, role: 'video', expiresAt: start + 86_400_000 }]);
    expect(await expiredAt(start + 86_399_999)).toEqual([]);
  });

  it("lets the row expire at once if the source fails, and throws the source's error", async () => {
    const before = await place.contents();
    const failure = new Error('the upstream broke off');
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half of ');
      throw failure;
    };
    await expect(library.save(image({ source: source() }))).rejects.toBe(failure);
    expect(await expiredAt(start)).toHaveLength(1);
    expect(await place.contents()).toEqual(before);
  });

  it("throws the source's error even if the store fails too", async () => {
    const store = await test.openAnother();
    const failure = new Error('the upstream broke off');
    const source = async function* (): AsyncGenerator<Uint8Array> {
      await store.close();
      yield Buffer.from('half of ');
      throw failure;
    };
    await expect(libraryOver(store).save(image({ source: source() }))).rejects.toBe(failure);
  });

  it('lets discarded media expire', async () => {
    const [kept, discarded] = [await library.save(image()), await library.save(image())];
    await library.discard([discarded.id]);
    await library.discard([]);
    const expired = await expiredAt(start);
    expect(expired.map(({ id }) => id)).toEqual([discarded.id]);
    expect(kept.id).not.toBe(discarded.id);
  });

  it('refuses a type that it cannot serve, and everything after the signal aborted', async () => {
    const reason = new Error('too late');
    await expect(library.save(image({ contentType: 'text/html' }))).rejects.toThrow(TypeError);
    await expect(library.save(image({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(await expiredAt(start + 1e9)).toEqual([]);
  });
});
