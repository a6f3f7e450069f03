import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { createAccount } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('the secrets of accounts for mounted servers on $kind', ({ create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  it('are set, replaced and removed for one account and server, and listed by name', async () => {
    const { store } = data;
    const owners: { accountId: string; server: string }[] = [];
    for (const name of ['first', 'second']) {
      const { id } = await createAccount({ store, clock: systemClock }, { name, status: 'active' });
      owners.push({ accountId: id, server: 'a' }, { accountId: id, server: 'b' });
    }
    const [owner, ...others] = owners;
    const set = (name: string, sealed: string | null, of = owner): Promise<boolean> =>
      store.setToolSecret({ ...of!, name, keyId: `key of ${sealed}`, sealed });
    await set('B', 'b');
    await set('A', 'a');
    for (const other of others) await set('A', 'o', other);
    expect((await store.listToolSecrets(owner!)).map(({ name }) => name)).toEqual(['A', 'B']);
    await set('A', 'c');
    for (const name of ['B', 'C']) await set(name, null);
    expect(await store.listToolSecrets(owner!)).toEqual([{ name: 'A', keyId: 'key of c', sealed: 'c' }]);
    for (const other of others)
      expect(await store.listToolSecrets(other)).toEqual([{ name: 'A', keyId: 'key of o', sealed: 'o' }]);
  });

  it('are replaced only while the former one is stored', async () => {
    const { store } = data;
    const { id: accountId } = await createAccount(
      { store, clock: systemClock },
      { name: 'T', status: 'active' },
    );
    const secret = { accountId, server: 'a', name: 'A', keyId: 'key' };
    expect(await store.setToolSecret({ ...secret, sealed: 'first' })).toBe(true);
    const replaced = await Promise.all(
      ['second', 'third'].map((sealed) => store.setToolSecret({ ...secret, sealed, former: 'first' })),
    );
    expect(replaced.filter(Boolean)).toEqual([true]);
    const [kept] = await store.listToolSecrets(secret);
    expect(kept?.sealed).toBe(replaced[0] === true ? 'second' : 'third');
    expect(await store.setToolSecret({ ...secret, sealed: null })).toBe(true);
    expect(await store.setToolSecret({ ...secret, sealed: 'fourth', former: kept!.sealed })).toBe(false);
    expect(await store.listToolSecrets(secret)).toEqual([]);
  });
});
