import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRealSales } from '../../../src/accounts/catalog/catalog.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

describe.each(testEngines())('the sales of real models, on $kind', ({ create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  it('are noticed by a gateway that runs when another one on its store begins them', async () => {
    let now = 0;
    const here = await openRealSales(data.store, false, () => now);
    expect(here.hasBegun()).toBe(false);
    const elsewhere = await openRealSales(await data.openAnother(), true);
    expect(elsewhere.hasBegun()).toBe(true);
    now += 1_999;
    await here.refresh();
    expect(here.hasBegun()).toBe(false);
    now += 1;
    await here.refresh();
    expect(here.hasBegun()).toBe(true);
    expect((await openRealSales(data.store, false)).hasBegun()).toBe(true);
  });

  it('are asked for again at once after the store did not answer', async () => {
    let now = 0;
    let isDown = false;
    const store: Parameters<typeof openRealSales>[0] = {
      getOrCreateSecret: data.store.getOrCreateSecret,
      findSecret: (name) => (isDown ? Promise.reject(new Error('no answer')) : data.store.findSecret(name)),
    };
    const here = await openRealSales(store, false, () => now);
    await openRealSales(data.store, true);
    now += 2_000;
    isDown = true;
    await expect(here.refresh()).rejects.toThrow('no answer');
    await expect(here.refresh()).rejects.toThrow('no answer');
    isDown = false;
    await here.refresh();
    expect(here.hasBegun()).toBe(true);
  });
});
