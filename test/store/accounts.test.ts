import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/store-error.ts';
import { addAccount, start } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('accounts and keys on $kind', ({ create }) => {
  let data: TestStore;
  beforeAll(async () => {
    data = await create();
  });
  afterAll(() => data.remove());

  it('keeps an account as it was created, without money', async () => {
    const id = randomUUID();
    const created = await data.store.createAccount({
      id,
      name: 'Müller & Söhne',
      status: 'pending',
      now: start,
    });
    expect(created).toEqual({
      id,
      name: 'Müller & Söhne',
      status: 'pending',
      balance: 0n,
      held: 0n,
      terms: null,
      isSandbox: false,
      wallet: null,
      createdAt: start,
    });
    expect(await data.store.getAccount(id)).toEqual(created);
  });

  it('stores whether an account has sandbox credit, and returns it with a look-up of its key', async () => {
    const id = randomUUID();
    const own = { id, name: 'Trial', status: 'active', isSandbox: true, now: start } as const;
    expect(await data.store.createAccount(own)).toMatchObject({ isSandbox: true });
    await data.store.createKey({
      id: `key-${id}`,
      accountId: id,
      hash: id,
      display: '',
      label: '',
      now: start,
    });
    expect(await data.store.findKey(id)).toMatchObject({ account: { id, isSandbox: true } });
  });

  it('returns null for accounts and keys that do not exist', async () => {
    expect(await data.store.getAccount('nobody')).toBeNull();
    expect(await data.store.findKey('no hash')).toBeNull();
    expect(await data.store.setAccountStatus({ id: 'nobody', status: 'active', now: start })).toBeNull();
    expect(await data.store.revokeKey({ id: 'no key', now: start })).toBeNull();
    expect(await data.store.getMedia('nothing')).toBeNull();
    expect(await data.store.getPayment('nothing')).toBeNull();
    expect(await data.store.getJob({ id: 'no job', accountId: 'nobody' })).toBeNull();
  });

  it('changes the status of one account only', async () => {
    const [one, other] = [await addAccount(data.store), await addAccount(data.store)];
    const suspended = await data.store.setAccountStatus({
      id: one.accountId,
      status: 'suspended',
      now: start,
    });
    expect(suspended?.status).toBe('suspended');
    expect((await data.store.getAccount(one.accountId))?.status).toBe('suspended');
    expect((await data.store.getAccount(other.accountId))?.status).toBe('active');
  });

  it('replaces the terms of one account only, and restores the defaults', async () => {
    const [one, other] = [await addAccount(data.store, { balance: 70n }), await addAccount(data.store)];
    const set = (terms: string | null) => data.store.setAccountTerms({ id: one.accountId, terms });
    const terms = '{"models":["videomodel-1"],"note":"Müller"}';
    expect(await set(terms)).toMatchObject({ id: one.accountId, balance: 70n, terms });
    expect(await data.store.getAccount(one.accountId)).toMatchObject({ terms });
    expect((await data.store.findKey(`hash of ${one.keyId}`))?.account).toMatchObject({ terms });
    expect(await data.store.getAccount(other.accountId)).toMatchObject({ terms: null });
    expect(await set(null)).toMatchObject({ terms: null });
    expect(await data.store.setAccountTerms({ id: 'nobody', terms })).toBeNull();
  });

  it('lists accounts oldest first, page by page, without a gap or a repetition', async () => {
    const fresh = await create();
    try {
      const ids = ['d', 'a', 'c', 'b', 'e'];
      const times = [3, 1, 2, 2, 4];
      for (const [index, id] of ids.entries())
        await fresh.store.createAccount({ id, name: id, status: 'active', now: start + (times[index] ?? 0) });
      const seen: string[] = [];
      for (;;) {
        const afterId = seen.at(-1);
        const page = await fresh.store.listAccounts({
          limit: 2,
          ...(afterId === undefined ? {} : { afterId }),
        });
        if (page.length === 0) break;
        seen.push(...page.map(({ id }) => id));
      }
      expect(seen).toEqual(['a', 'b', 'c', 'd', 'e']);
    } finally {
      await fresh.remove();
    }
  });

  it('finds a key by its hash, together with its account', async () => {
    const { accountId, keyId } = await addAccount(data.store, { balance: 70n });
    const found = await data.store.findKey(`hash of ${keyId}`);
    expect(found).toEqual({
      key: {
        id: keyId,
        accountId,
        madeBy: null,
        revokedAt: null,
        expiresAt: null,
        models: null,
        tools: null,
        budgetDay: null,
        budgetMonth: null,
        budgetTotal: null,
        usageTag: null,
      },
      account: {
        id: accountId,
        name: 'Acme',
        status: 'active',
        balance: 70n,
        held: 0n,
        terms: null,
        isSandbox: false,
        wallet: null,
        createdAt: start,
        webhookSecret: null,
      },
    });
    await data.store.ensureWebhookSecret({ accountId, secret: 'first' });
    await data.store.rotateWebhookSecret({ accountId, secret: 'second', previousUntil: start });
    expect((await data.store.findKey(`hash of ${keyId}`))?.account.webhookSecret).toBe('second');
  });

  it('refuses a second key with the same hash and a key without an account', async () => {
    const { accountId, keyId } = await addAccount(data.store);
    const key = { id: randomUUID(), accountId, hash: `hash of ${keyId}`, display: '', label: '', now: start };
    await expect(data.store.createKey(key)).rejects.toThrow(StoreError);
    await expect(data.store.createKey({ ...key, hash: 'h2', accountId: 'nobody' })).rejects.toThrow(
      StoreError,
    );
    expect(await data.store.listKeys({ accountId, limit: 100, before: null, now: start })).toHaveLength(1);
  });

  it('lists the keys of an account, newest first, and keeps the first time of a revocation', async () => {
    const { accountId, keyId } = await addAccount(data.store);
    const second = randomUUID();
    await data.store.createKey({
      id: second,
      accountId,
      hash: second,
      display: 'd',
      label: 'second',
      now: start + 1,
    });
    await data.store.revokeKey({ id: keyId, now: start + 5 });
    const again = await data.store.revokeKey({ id: keyId, now: start + 9 });
    expect(again?.revokedAt).toBe(start + 5);
    const keys = await data.store.listKeys({ accountId, limit: 100, before: null, now: start });
    expect(keys.map(({ id, revokedAt }) => [id, revokedAt])).toEqual([
      [second, null],
      [keyId, start + 5],
    ]);
  });
});
