import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('videos that were made here, on $kind', ({ create }) => {
  let testStore: TestStore;

  beforeEach(async () => {
    testStore = await create();
  });

  afterEach(async () => {
    await testStore.remove();
  });

  it('are found by their digest, with the seconds that were stored first', async () => {
    const { store } = testStore;
    expect(await store.findMadeClip('a')).toBeNull();
    await store.noteMadeClip({ digest: 'a', seconds: 4, now: 1 });
    await store.noteMadeClip({ digest: 'a', seconds: 9, now: 2 });
    expect(await store.findMadeClip('a')).toBe(4);
    expect(await store.findMadeClip('b')).toBeNull();
  });

  it('are deleted in batches if they were last made long ago', async () => {
    const { store } = testStore;
    for (const [digest, now] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['a', 4],
      ['d', 5],
    ] as const)
      await store.noteMadeClip({ digest, seconds: 4, now });
    const sweep = (): Promise<number> => store.sweepMadeClips({ madeBefore: 5, limit: 2 });
    expect([await sweep(), await store.findMadeClip('a')]).toEqual([2, 4]);
    expect([await sweep(), await sweep()]).toEqual([1, 0]);
    expect([await store.findMadeClip('a'), await store.findMadeClip('d')]).toEqual([null, 4]);
  });
});
