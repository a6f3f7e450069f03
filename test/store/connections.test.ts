import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/kit/ids.ts';
import { createOAuthAdapter } from '../../src/rest/connect/oauth-adapter.ts';
import type { Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  counted,
  finishing,
  opening,
  openWithJob,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { connectAssistant } from './connect-assistant.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const hour = 3_600_000;

describe.each(testEngines())('on $kind,', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  const connect = async (
    { accountId }: Owner,
    budgets: { own: bigint | null; parent: bigint | null },
  ): Promise<{ owner: Owner; parent: Owner; grantId: string; token: string }> => {
    const { connectionId, parentId, grantId, token } = await connectAssistant(store, {
      accountId,
      now: start,
      limits: { budgetDay: budgets.own },
      parentLimits: { budgetDay: budgets.parent },
    });
    return {
      owner: { accountId, keyId: connectionId },
      parent: { accountId, keyId: parentId },
      grantId,
      token: sha256(token),
    };
  };

  const open = (owner: Owner, hold: bigint) =>
    openWithJob(
      store,
      opening(runningJob(owner, { isBudgeted: true, leaseUntil: start + 30_000 }), { hold, now: start }),
    );

  describe('a connection', () => {
    it('spends within its own budget and that of the key that made it, and counts in both', async () => {
      const account = await addAccount(store, { balance: 1_000_000n });
      const { owner, parent } = await connect(account, { own: 100n, parent: 150n });
      expect(await open(owner, 101n)).toMatchObject({ outcome: 'insufficient', available: 100n });
      const first = await open(owner, 80n);
      if (!('job' in first)) throw new Error('it was not opened');
      expect(await open(parent, 71n)).toMatchObject({ outcome: 'insufficient', available: 70n });
      expect(await open(parent, 70n)).toMatchObject({ outcome: 'opened' });
      expect(await open(owner, 1n)).toMatchObject({ outcome: 'insufficient', available: 0n });
      await store.finishJob(finishing(first.job.id, { charge: 50n, now: start, ...counted(first.job) }));
      expect(await open(owner, 31n)).toMatchObject({ outcome: 'insufficient', available: 30n });
      const [mine] = await store.listConnections({ ...account, limit: 5, before: null, now: start });
      expect(mine).toMatchObject({ daySpent: 50n, dayHeld: 0n, parentId: parent.keyId });
      await assertSoundBooks(store);
    });

    it('keeps the servers that it may use, and the tools of the key that made it, and a key changes its own', async () => {
      const { accountId } = await addAccount(store, { balance: 1_000n });
      const { connectionId, parentId, token } = await connectAssistant(store, {
        accountId,
        now: start,
        servers: ['files', 'search'],
        parentLimits: { tools: ['files__read'], models: ['m'] },
      });
      const find = () => store.findConnection({ token: sha256(token), now: start });
      expect(await find()).toMatchObject({
        servers: ['files', 'search'],
        key: { tools: null },
        parent: { tools: ['files__read'], models: ['m'] },
      });
      expect(await store.getConnection({ id: connectionId, now: start })).toMatchObject({
        servers: ['files', 'search'],
      });
      await store.changeKey({ id: parentId, tools: null, budgetDay: 5n });
      expect(await find()).toMatchObject({ parent: { tools: null, models: ['m'], budgetDay: 5n } });
      await store.changeKey({ id: parentId, tools: ['a'] });
      expect(await store.getKey({ id: parentId, now: start })).toMatchObject({
        tools: ['a'],
        models: ['m'],
        budgetDay: 5n,
      });
    });

    it('opens no job when the key that made it is revoked after the call came', async () => {
      const account = await addAccount(store, { balance: 1_000n });
      const { owner, parent } = await connect(account, { own: 100n, parent: null });
      await store.revokeKey({ id: parent.keyId, now: start });
      expect(await open(owner, 10n)).toMatchObject({ outcome: 'forbidden' });
    });

    it('is never overrun by calls at the same moment on two gateways', async () => {
      const account = await addAccount(store, { balance: 1_000_000n });
      const { owner } = await connect(account, { own: 100n, parent: null });
      const other = await data.openAnother();
      const opened = await Promise.all(
        Array.from({ length: 24 }, (_, index) =>
          openWithJob(
            index % 2 === 0 ? store : other,
            opening(runningJob(owner, { isBudgeted: true, leaseUntil: start + 30_000 }), {
              hold: 7n,
              now: start,
            }),
          ),
        ),
      );
      expect(opened.filter(({ outcome }) => outcome === 'opened')).toHaveLength(14);
      await assertSoundBooks(store);
    });

    it('spends within its total, which is shown with what is spent and held', async () => {
      const account = await addAccount(store, { balance: 1_000_000n });
      const { owner } = await connect(account, { own: 100n, parent: null });
      expect(
        await store.changeConnection({ id: owner.keyId, budgetDay: null, budgetTotal: 150n, now: start }),
      ).toBe('changed');
      const first = await open(owner, 120n);
      if (!('job' in first)) throw new Error('it was not opened');
      expect(await open(owner, 31n)).toMatchObject({ available: 30n, budget: { period: 'total' } });
      await store.finishJob(finishing(first.job.id, { charge: 70n, now: start, ...counted(first.job) }));
      expect(await open(owner, 80n)).toMatchObject({ outcome: 'opened' });
      expect(await store.getConnection({ id: owner.keyId, now: start + 40 * 24 * hour })).toMatchObject({
        budgetDay: null,
        budgetTotal: 150n,
        totalSpent: 70n,
        totalHeld: 80n,
        daySpent: 0n,
      });
      await assertSoundBooks(store);
    });

    it('keeps a limit, also when two take one away at the same moment', async () => {
      const account = await addAccount(store);
      const { owner } = await connect(account, { own: 100n, parent: null });
      const own = { id: owner.keyId, accountId: account.accountId, now: start };
      expect(await store.changeConnection({ ...own, budgetDay: null })).toBe('unlimited');
      expect(await store.changeConnection({ ...own, budgetTotal: 500n })).toBe('changed');
      const other = await data.openAnother();
      const outcomes = await Promise.all([
        store.changeConnection({ ...own, budgetDay: null }),
        other.changeConnection({ ...own, budgetTotal: null }),
      ]);
      expect(outcomes.toSorted()).toEqual(['changed', 'unlimited']);
    });

    it('is changed by its own account, until it ends, and a key is no connection', async () => {
      const account = await addAccount(store);
      const { owner, parent } = await connect(account, { own: 100n, parent: null });
      const change = (id: string, accountId?: string) =>
        store.changeConnection({ id, accountId, budgetDay: 50n, now: start });
      expect(await change(owner.keyId, 'other')).toBe('ended');
      expect(await store.getConnection({ id: owner.keyId, accountId: 'other', now: start })).toBeNull();
      expect(await change(parent.keyId)).toBe('ended');
      expect(await store.getConnection({ id: parent.keyId, now: start })).toBeNull();
      expect(await change(owner.keyId, account.accountId)).toBe('changed');
      await store.endConnection({ id: owner.keyId, now: start });
      expect(await change(owner.keyId)).toBe('ended');
    });

    it('has ended, and is not changed any more, when the key that made it has', async () => {
      const account = await addAccount(store);
      const { owner, parent } = await connect(account, { own: 100n, parent: null });
      const at = async (now: number) => {
        const [listed] = await store.listConnections({ ...account, limit: 1, before: null, now });
        return [listed?.endedAt, await store.changeConnection({ id: owner.keyId, budgetDay: 50n, now })];
      };
      await store.changeKey({ id: parent.keyId, expiresAt: start + hour });
      expect(await at(start + hour - 1)).toEqual([null, 'changed']);
      expect(await at(start + hour)).toEqual([start + hour, 'ended']);
      await store.revokeKey({ id: parent.keyId, now: start + 1 });
      expect(await at(start + 2)).toEqual([start + 1, 'ended']);
      await store.endConnection({ id: owner.keyId, now: start + 3 });
      expect(await at(start + 4)).toEqual([start + 1, 'ended']);
    });

    it('is found by the tokens of its grant until it ends, which ends them all', async () => {
      const account = await addAccount(store);
      const { owner, parent, grantId, token } = await connect(account, { own: 1n, parent: null });
      expect(await store.findConnection({ token, now: start })).toMatchObject({
        key: { id: owner.keyId },
        parent: { id: parent.keyId },
        account: { id: account.accountId },
        scopes: ['read', 'generate'],
      });
      expect(await store.findConnection({ token, now: start + hour })).toBeNull();
      expect(await store.endConnection({ id: owner.keyId, accountId: 'other', now: start })).toBe(false);
      expect(await store.findConnection({ token, now: start })).not.toBeNull();
      expect(await store.endConnection({ ...account, id: owner.keyId, now: start })).toBe(true);
      expect(await store.findConnection({ token, now: start })).toBeNull();
      expect(await store.findConnection({ grantId })).toMatchObject({ key: { revokedAt: start } });
    });

    it('has with a token at most the scopes that the token names', async () => {
      const { accountId } = await addAccount(store);
      for (const [tokenScope, allowed] of [
        ['read offline_access', ['read']],
        ['search', []],
        ['', ['read', 'generate']],
      ] as const) {
        const { token, grantId } = await connectAssistant(store, { accountId, now: start, tokenScope });
        const found = { resource: '/mcp/account', account: { id: accountId } };
        expect(await store.findConnection({ token: sha256(token), now: start })).toMatchObject({
          ...found,
          scopes: allowed,
        });
        expect(await store.findConnection({ grantId })).toMatchObject({
          ...found,
          scopes: ['read', 'generate'],
        });
      }
    });

    it('and a sign-in are none of the keys that an account may make', async () => {
      const account = await addAccount(store);
      const { connectionId } = await connectAssistant(store, { accountId: account.accountId, now: start });
      const key = (name: string) => ({
        id: randomUUID(),
        accountId: account.accountId,
        hash: `${connectionId} ${name}`,
        display: '',
        label: name,
        now: start,
      });
      await store.createSignInKey({ ...key('sign-in'), expiresAt: start + hour, maxKeys: 20 });
      const make = (name: string) => store.createKey({ ...key(name), madeBy: account.keyId, maxKeys: 1 });
      expect(await make('first')).toMatchObject({ label: 'first' });
      expect(await make('second')).toBeNull();
    });

    it('is no key that an account lists, reads, changes or revokes', async () => {
      const account = await addAccount(store);
      const { owner } = await connect(account, { own: 1n, parent: null });
      const keys = await store.listKeys({ ...account, limit: 20, before: null, now: start });
      expect(keys.map(({ id }) => id)).not.toContain(owner.keyId);
      expect(await store.getKey({ id: owner.keyId, now: start })).toBeNull();
      expect(await store.changeKey({ id: owner.keyId, label: 'mine' })).toBe(false);
      expect(await store.revokeKey({ id: owner.keyId, now: start })).toBeNull();
    });
  });

  describe('the records of the authorization server', () => {
    const clock = { now: () => start };

    it('hold no code, token or cookie, and give them back to who has them', async () => {
      const adapter = createOAuthAdapter('Interaction', { store, clock });
      const payload = {
        jti: 'secret-of-a-cookie',
        returnTo: 'https://gateway.example/oauth/authorize/secret-of-a-cookie',
        session: { uid: 'u', cookie: 'secret-of-a-session' },
      };
      await adapter.upsert('secret-of-a-cookie', payload, 60);
      const rows = JSON.stringify(await data.sql('select id, payload from oauth_records'));
      expect(rows).not.toContain('secret-of');
      expect(await adapter.find('secret-of-a-cookie')).toEqual({
        ...payload,
        session: { uid: 'u', cookie: '' },
      });
    });

    it('let one of many processes use a code, and refuse the others', async () => {
      const other = await data.openAnother();
      const [one, two] = [store, other].map((each) =>
        createOAuthAdapter('AuthorizationCode', { store: each, clock }),
      );
      await one!.upsert('code', { grantId: 'g' }, 60);
      const outcomes = await Promise.allSettled([one, two, one, two].map((each) => each!.consume('code')));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await two!.find('code')).toMatchObject({ consumed: start / 1_000 });
    });

    it('take a refresh token twice within a minute, and then no more', async () => {
      let now = start;
      const adapter = createOAuthAdapter('RefreshToken', { store, clock: { now: () => now } });
      await adapter.upsert('refresh', { grantId: 'g' }, 3_600);
      await adapter.consume('refresh');
      await adapter.consume('refresh');
      expect(await adapter.find('refresh')).not.toHaveProperty('consumed');
      now += 60_001;
      expect(await adapter.find('refresh')).toMatchObject({ consumed: start / 1_000 });
    });

    it('give way to new ones when there are as many as may be: those first that were used longest ago', async () => {
      const put = (id: string, now: number) =>
        store.putOAuthRecord({
          model: 'Client',
          id,
          payload: '{}',
          grantId: null,
          uid: null,
          expiresAt: start + hour,
          now,
          maxRecords: 3,
        });
      for (const [index, id] of ['a', 'b', 'c'].entries()) await put(id, start + index);
      await store.useOAuthRecord({ model: 'Client', id: 'a', now: start + 10, expiresAt: start + hour });
      await put('d', start + 11);
      const left = ['a', 'b', 'c', 'd'].map(async (id) =>
        (await store.findOAuthRecord({ model: 'Client', id, now: start })) === null ? [] : [id],
      );
      expect((await Promise.all(left)).flat()).toEqual(['a', 'c', 'd']);
    });

    it('stay for a client whose grant lives, which does not count among those that give way', async () => {
      const grants = createOAuthAdapter('Grant', { store, clock });
      await grants.upsert('kept', { jti: 'kept', clientId: 'oldest' }, 24 * 3_600);
      await grants.upsert('ended', { jti: 'ended', clientId: 'second' }, 24 * 3_600);
      await grants.revokeByGrantId('ended');
      const model = 'ClientDocument';
      const ids = ['oldest', 'second', 'third', 'fourth', 'fifth'];
      for (const [index, id] of ids.entries())
        await store.putOAuthRecord({
          model,
          id: sha256(id),
          payload: '{}',
          grantId: null,
          uid: null,
          expiresAt: start + hour,
          now: start + index,
          maxRecords: 2,
        });
      const found = await Promise.all(
        ids.map((id) => store.findOAuthRecord({ model, id: sha256(id), now: start })),
      );
      expect(ids.filter((_, index) => found[index] !== null)).toEqual(['oldest', 'fourth', 'fifth']);
    });

    it('are at most fifty tokens of a kind for each grant, the newest', async () => {
      let now = start;
      const tokens = createOAuthAdapter('RefreshToken', { store, clock: { now: () => now } });
      const put = async (grantId: string, id: string): Promise<void> => {
        now += 1;
        await tokens.upsert(id, { grantId }, 3_600);
      };
      await put('other', 'other');
      for (let index = 0; index < 52; index += 1) await put('busy', `busy-${index}`);
      const find = async (id: string): Promise<boolean> => (await tokens.find(id)) !== undefined;
      const ids = ['other', 'busy-0', 'busy-1', 'busy-2', 'busy-51'];
      expect(await Promise.all(ids.map(find))).toEqual([true, false, false, true, true]);
    });

    it('have a length, beyond which a client or a request is refused', async () => {
      const put = (model: string, client_name: string) =>
        createOAuthAdapter(model, { store, clock }).upsert('long', { client_name }, 60);
      await expect(put('Client', 'x'.repeat(5_000))).rejects.toThrow('invalid_client_metadata');
      await expect(put('Interaction', 'x'.repeat(10_000))).rejects.toThrow('invalid_request');
      await put('Interaction', 'x'.repeat(5_000));
    });

    it('end with a grant of which no token comes, and stay as long as its tokens', async () => {
      const grants = createOAuthAdapter('Grant', { store, clock });
      const tokens = createOAuthAdapter('RefreshToken', { store, clock });
      await grants.upsert('unused', { jti: 'unused' }, 24 * 3_600);
      await grants.upsert('used', { jti: 'used' }, 24 * 3_600);
      await tokens.upsert('token', { grantId: 'used' }, 24 * 3_600);
      const later = { now: () => start + hour };
      const found = createOAuthAdapter('Grant', { store, clock: later });
      expect(await found.find('unused')).toBeUndefined();
      expect(await found.find('used')).toMatchObject({ jti: 'used' });
      await grants.revokeByGrantId('used');
      expect(await found.find('used')).toBeUndefined();
    });

    it('are swept when they have expired', async () => {
      await store.putOAuthRecord({
        model: 'Session',
        id: 's',
        payload: '{}',
        grantId: null,
        uid: null,
        expiresAt: start + hour,
        now: start,
      });
      await store.sweepOAuthRecords({ now: start + 24 * hour, limit: 100 });
      expect(await store.sweepOAuthRecords({ now: start + 24 * hour, limit: 100 })).toBe(0);
    });
  });
});
