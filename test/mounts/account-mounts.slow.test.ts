import { describe, expect, it } from 'vitest';
import type { Mounts } from '../../src/mounts/create-mounts.ts';
import type { MountConfig } from '../../src/mounts/mount-settings.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { openTestStoreHere } from '../operator/open-test-store-here.ts';
import { createAccount } from '../store/builders.ts';
import {
  caller,
  isAlive,
  pinOf,
  programConfig,
  startMounts,
  textOf,
  whenReady,
  type StartMountsOptions,
} from './start-mounts.ts';

const key = 'ab'.repeat(32);

/** Mounts servers that want a TOKEN of each account, and opens as many accounts. */
const start = async (
  accounts: number,
  {
    servers = ['hostile'],
    names = ['TOKEN'],
    ...options
  }: StartMountsOptions & { servers?: string[]; names?: string[] } = {},
) => {
  const store = await openTestStoreHere();
  const configs: MountConfig[] = servers.map((name) =>
    programConfig(name, { env: { SHARED: 'all', TOKEN: "operator's" } }, { perAccount: names }),
  );
  const mounts = await startMounts(configs, { store, keys: [key], ...options });
  const ids: string[] = [];
  for (let index = 0; index < accounts; index += 1) {
    const { id } = await createAccount({ store, clock: systemClock }, { name: 'Tester', status: 'active' });
    ids.push(id);
  }
  const setAll = async (values: Record<string, string>): Promise<void> => {
    for (const accountId of ids)
      for (const server of servers) await mounts.secrets.set({ accountId, server }, values);
  };
  return { mounts, store, ids, setAll };
};

const environmentOf = async (call: ReturnType<typeof caller>): Promise<Record<string, string>> =>
  JSON.parse(await textOf(call('environment')));
const pidOf = async (call: ReturnType<typeof caller>): Promise<number> =>
  Number(await textOf(call('run', pinOf('run'), { code: 'process.pid' })));
const outcome = async (mounts: Mounts, accountId: string, server = 'hostile'): Promise<string> =>
  (await caller(mounts, server, accountId)('echo')).kind;

describe('a server with secrets of accounts', () => {
  it('runs once for each account, with its secrets in place of those of the operator', async () => {
    const { mounts, ids } = await start(2);
    const [first, second] = ids.map((accountId) => caller(mounts, 'hostile', accountId));
    for (const [index, accountId] of ids.entries())
      await mounts.secrets.set({ accountId, server: 'hostile' }, { TOKEN: `token-${index}` });
    expect(await environmentOf(first!)).toMatchObject({ SHARED: 'all', TOKEN: 'token-0' });
    expect(await environmentOf(second!)).toMatchObject({ SHARED: 'all', TOKEN: 'token-1' });
    const pids = await Promise.all([first!, first!, second!].map(pidOf));
    expect(pids[0]).toBe(pids[1]);
    expect(pids[2]).not.toBe(pids[0]);
  });

  it('is not called without them', async () => {
    const { mounts, ids } = await start(1, { names: ['TOKEN', 'OTHER'] });
    const owner = { accountId: ids[0]!, server: 'hostile' };
    expect(await mounts.secrets.lacks(owner)).toEqual(['TOKEN', 'OTHER']);
    await mounts.secrets.set(owner, { OTHER: 'set' });
    expect(await mounts.secrets.lacks(owner)).toEqual(['TOKEN']);
    expect(await outcome(mounts, owner.accountId)).toBe('unsent');
    await mounts.secrets.set(owner, { TOKEN: 'set' });
    expect(await mounts.secrets.lacks(owner)).toEqual([]);
    expect(await outcome(mounts, owner.accountId)).toBe('answered');
  });

  it('ends when they are changed or removed', async () => {
    const { mounts, ids } = await start(1);
    const owner = { accountId: ids[0]!, server: 'hostile' };
    const call = caller(mounts, 'hostile', ids[0]);
    await mounts.secrets.set(owner, { TOKEN: 'first' });
    const pid = await pidOf(call);
    await mounts.secrets.set(owner, { TOKEN: 'second' });
    expect(await environmentOf(call)).toMatchObject({ TOKEN: 'second' });
    expect(isAlive(pid)).toBe(false);
    const next = await pidOf(call);
    await mounts.secrets.set(owner, { TOKEN: null });
    await expect.poll(() => isAlive(next)).toBe(false);
    expect((await call('echo')).kind).toBe('unsent');
  });

  it('starts no more after the end of the gateway, also for a call that came just before', async () => {
    const { mounts, ids, setAll } = await start(1);
    await setAll({ TOKEN: 'first' });
    const called = outcome(mounts, ids[0]!);
    await mounts.close();
    expect(await called).toBe('unsent');
    expect(await outcome(mounts, ids[0]!)).toBe('unsent');
  });

  it('starts anew where another gateway changed them', async () => {
    const { mounts, store, ids } = await start(1);
    const call = caller(mounts, 'hostile', ids[0]);
    const other = await startMounts([programConfig('hostile', {}, { perAccount: ['TOKEN'] })], {
      store,
      keys: [key],
    });
    const owner = { accountId: ids[0]!, server: 'hostile' };
    await mounts.secrets.set(owner, { TOKEN: 'first' });
    expect(await environmentOf(call)).toMatchObject({ TOKEN: 'first' });
    await other.secrets.set(owner, { TOKEN: 'second' });
    expect(await environmentOf(call)).toMatchObject({ TOKEN: 'second' });
  });

  it('gets nothing that the operator does not let accounts set any more', async () => {
    const { mounts, store, ids, setAll } = await start(1, { names: ['TOKEN', 'OTHER'] });
    await setAll({ TOKEN: 'a', OTHER: 'b' });
    const narrowed = await startMounts([programConfig('hostile', {}, { perAccount: ['TOKEN'] })], {
      store,
      keys: [key],
    });
    expect(Object.keys(await environmentOf(caller(narrowed, 'hostile', ids[0])))).toEqual(['TOKEN']);
    await mounts.close();
  });

  it('answers soon that it cannot be had where it does not start', async () => {
    const { mounts, ids, setAll } = await start(1, { names: ['REFUSES'] });
    await setAll({ REFUSES: 'yes' });
    expect(await outcome(mounts, ids[0]!)).toBe('unsent');
  });

  it('ends when it is not called for long', async () => {
    const { mounts, ids, setAll } = await start(1, { idleMs: 100 });
    await setAll({ TOKEN: 'set' });
    const call = caller(mounts, 'hostile', ids[0]);
    const pid = await pidOf(call);
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(await pidOf(call)).not.toBe(pid);
  });
});

describe('the number of processes', () => {
  it('has a share for each account, whose longest idle server makes room', async () => {
    const { mounts, ids, setAll } = await start(1, { servers: ['a', 'b', 'c'], maxToolProcesses: 8 });
    await setAll({ TOKEN: 'set' });
    const [a, b, c] = ['a', 'b', 'c'].map((server) => caller(mounts, server, ids[0]));
    const pids = [await pidOf(a!), await pidOf(b!)];
    await a!('echo');
    const third = await pidOf(c!);
    expect([...pids, third].map(isAlive)).toEqual([true, false, true]);
  });

  it('has a limit, and what is busy is not ended for another account', async () => {
    const { mounts, ids, setAll } = await start(3, { maxToolProcesses: 2 });
    await setAll({ TOKEN: 'set' });
    const [first, second, third] = ids as [string, string, string];
    const pids = [
      await pidOf(caller(mounts, 'hostile', first)),
      await pidOf(caller(mounts, 'hostile', second)),
    ];
    const hanging = [first, second].map((id) => caller(mounts, 'hostile', id)('hang'));
    await expect.poll(() => mounts.restMs({ server: 'hostile', accountId: third })).not.toBeNull();
    expect(mounts.restMs({ server: 'hostile', accountId: first })).toBeNull();
    expect(await outcome(mounts, third)).toBe('unsent');
    expect(pids.map(isAlive)).toEqual([true, true]);
    await mounts.close();
    await Promise.all(hanging);
    expect(pids.map(isAlive)).toEqual([false, false]);
  });

  it('has one process of an account that makes room and comes back while its former one ends', async () => {
    const { mounts, ids, setAll } = await start(3, { maxToolProcesses: 2 });
    await setAll({ TOKEN: 'set' });
    const [first, second, third] = ids.map((id) => caller(mounts, 'hostile', id));
    await whenReady(first!);
    const stubborn = await textOf(
      first!('run', pinOf('run'), {
        code: `process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); process.pid`,
      }),
    );
    await whenReady(second!);
    const waiting = third!('echo');
    await expect.poll(() => mounts.restMs({ server: 'hostile', accountId: ids[0]! })).toBeNull();
    expect(await pidOf(first!)).not.toBe(Number(stubborn));
    expect(isAlive(Number(stubborn))).toBe(false);
    expect((await waiting).kind).toBe('answered');
  });

  it('counts one that ends until its process is gone', async () => {
    const { mounts, ids, setAll } = await start(2, { maxToolProcesses: 1 });
    await setAll({ TOKEN: 'set' });
    const [first, second] = ids.map((id) => caller(mounts, 'hostile', id));
    await whenReady(first!);
    const stubborn = await textOf(
      first!('run', pinOf('run'), {
        code: `process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); process.pid`,
      }),
    );
    await whenReady(second!);
    expect(isAlive(Number(stubborn))).toBe(false);
  });
});
