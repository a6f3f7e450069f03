import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { ApiKey } from '../../src/store/store.ts';
import { addAccount, start } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('sign-ins on $kind', ({ create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  it('use a nonce once in all processes, and forget it when it has expired', async () => {
    const { store } = data;
    const other = await data.openAnother();
    const uses = [store, other, store, other].map((one) => one.spendNonce({ nonce: 'a', expiresAt: start }));
    expect((await Promise.all(uses)).filter(Boolean)).toEqual([true]);
    await store.spendNonce({ nonce: 'b', expiresAt: start + 1 });
    const sweep = (): Promise<number> => store.sweepSpentNonces({ now: start, limit: 5 });
    expect([await sweep(), await sweep()]).toEqual([1, 0]);
    expect(await store.spendNonce({ nonce: 'b', expiresAt: start + 1 })).toBe(false);
  });

  it('leave the key of a wallet alone, under which its paid calls run', async () => {
    const { store } = data;
    const key = { id: newId(), hash: 'unknown', display: 'wallet' };
    const { id: accountId, keyId } = await store.openWalletAccount({
      id: newId(),
      wallet: 'eip155:0x1',
      isSandbox: true,
      key,
      now: start,
    });
    expect(keyId).toBe(key.id);
    expect(await store.listKeys({ accountId, limit: 20, before: null, now: start })).toEqual([]);
    expect(await store.getKey({ id: keyId, now: start })).toBeNull();
    expect(await store.revokeKey({ id: keyId, now: start })).toBeNull();
    expect(await store.changeKey({ id: keyId, label: 'mine' })).toBe(false);
    expect((await store.findKey('unknown'))?.key.revokedAt).toBeNull();
  });

  it('leave the key that made a connection, however many come later', async () => {
    const { store } = data;
    const { accountId } = await addAccount(store);
    const signIn = (name: string, now: number): Promise<ApiKey> =>
      store.createSignInKey({
        id: newId(),
        accountId,
        hash: `${accountId} ${name}`,
        display: '',
        label: 'wallet sign-in',
        expiresAt: now + 1_000_000,
        maxKeys: 2,
        now,
      });
    const parent = await signIn('parent', start);
    await store.createConnection({
      id: newId(),
      accountId,
      parentId: parent.id,
      grantId: accountId,
      scopes: ['read'],
      servers: [],
      resource: '/mcp/account',
      client: { id: 'x', name: 'x', redirect: 'x' },
      label: 'x',
      limits: { budgetDay: 1n },
      askAbove: null,
      now: start,
    });
    const later = [];
    for (const now of [1, 2, 3]) later.push(await signIn(`later ${now}`, start + now));
    const keys = await Promise.all([parent, ...later].map(({ id }) => store.getKey({ id, now: start + 4 })));
    expect(keys.map((key) => key?.revokedAt === null)).toEqual([true, false, true, true]);
  });

  it('add keys of their own to an account, and revoke the oldest of more than a number that can be used', async () => {
    const { store } = data;
    const { accountId, keyId } = await addAccount(store);
    let now = start;
    const signIn = async (lifeMs = 1_000): Promise<ApiKey> => {
      now += 1;
      return store.createSignInKey({
        id: newId(),
        accountId,
        hash: `hash ${now}`,
        display: '',
        label: 'wallet sign-in',
        expiresAt: now + lifeMs,
        maxKeys: 3,
        now,
      });
    };
    const first = await signIn();
    const short = await signIn(1);
    now += 1;
    expect(first).toMatchObject({ madeBy: 'wallet', expiresAt: start + 1_001, revokedAt: null });
    const third = await signIn();
    await store.revokeKey({ id: third.id, now });
    const revokedAt = now;
    const others = [await signIn(), await signIn()];
    const alive = async (): Promise<string[]> => {
      const listed = await store.listKeys({ accountId, limit: 20, before: null, now });
      return listed.filter((key) => key.revokedAt === null).map(({ id }) => id);
    };
    // The second has ended and the third is revoked, so three can be used.
    expect(await alive()).toEqual([...others.map(({ id }) => id).reverse(), short.id, first.id, keyId]);
    const newest = await signIn();
    expect(await store.getKey({ id: first.id, now })).toMatchObject({ revokedAt: now });
    expect(await store.getKey({ id: third.id, now })).toMatchObject({ revokedAt });
    expect(await alive()).toEqual([newest, ...others.reverse()].map(({ id }) => id).concat(short.id, keyId));
    await Promise.all(Array.from({ length: 8 }, () => signIn()));
    expect(await alive()).toHaveLength(5);
  });
});
