import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewConsoleSession, Store } from '../../src/store/store.ts';
import { start } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const life = 43_200_000;

describe.each(testEngines())('on $kind, a session of the console', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  const open = async (changes: Partial<NewConsoleSession> = {}): Promise<string> => {
    const id = randomUUID();
    const session = { id, role: 'customer', keyHash: 'hash', expiresAt: start + life, maxOfKey: 20 } as const;
    await store.openConsoleSession({ ...session, ...changes });
    return id;
  };
  const find = (id: string, { role = 'customer' as const, now = start } = {}) =>
    store.findConsoleSession({ id, role, now });

  it('is found by its role until it expires or is ended', async () => {
    const id = await open();
    expect(await find(id)).toEqual({ id, role: 'customer', keyHash: 'hash', expiresAt: start + life });
    expect(await store.findConsoleSession({ id, role: 'operator', now: start })).toBeNull();
    expect(await find(id, { now: start + life })).toBeNull();
    await store.endConsoleSession(id);
    expect(await find(id)).toBeNull();
  });

  it('ends when its key has so many newer ones', async () => {
    const other = await open({ keyHash: 'another', expiresAt: start + 1 });
    const first = await open({ keyHash: 'many', expiresAt: start + 2, maxOfKey: 2 });
    const second = await open({ keyHash: 'many', expiresAt: start + 3, maxOfKey: 2 });
    const third = await open({ keyHash: 'many', expiresAt: start + 3, maxOfKey: 2 });
    expect(await find(first)).toBeNull();
    for (const id of [other, second, third]) expect(await find(id)).not.toBeNull();
  });

  it('is swept when it has expired', async () => {
    const id = await open({ keyHash: 'swept' });
    await store.sweepConsoleSessions({ now: start + life - 1, limit: 100 });
    expect(await find(id)).not.toBeNull();
    expect(await store.sweepConsoleSessions({ now: start + life, limit: 100 })).toBeGreaterThan(0);
    expect(await find(id)).toBeNull();
  });
});
