import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('secrets of the deployment on $kind', ({ create }) => {
  let testStore: TestStore;

  beforeEach(async () => {
    testStore = await create();
  });

  afterEach(async () => {
    await testStore.remove();
  });

  it('are made once, and are then the same for everybody', async () => {
    const { store } = testStore;
    const values = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        store.getOrCreateSecret({ name: 'a', value: `value ${index}` }),
      ),
    );
    expect(new Set(values).size).toBe(1);
    expect(await store.getOrCreateSecret({ name: 'a', value: 'later' })).toBe(values[0]);
    expect(await store.getOrCreateSecret({ name: 'b', value: 'another' })).toBe('another');
  });

  it('are looked up without being made', async () => {
    const { store } = testStore;
    expect(await store.findSecret('a')).toBeNull();
    await store.getOrCreateSecret({ name: 'a', value: 'first' });
    expect(await store.findSecret('a')).toBe('first');
  });
});
