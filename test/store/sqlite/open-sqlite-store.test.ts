import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore, type SqliteStoreOptions } from '../../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { addAccount, assertSoundBooks, available, opening, runningJob, start } from '../builders.ts';
import { patience } from '../open-store-at.ts';

describe('the SQLite store', () => {
  let folder: string;
  let opened: Store[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'causeway-sqlite-'));
    opened = [];
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  const file = () => join(folder, 'store.sqlite');
  const open = async (options: Partial<SqliteStoreOptions> = {}): Promise<Store> => {
    const store = await openSqliteStore({ file: file(), ...options });
    opened.push(store);
    return store;
  };
  const topUp = (store: Store, accountId: string, id: string) =>
    store.postEntry({ id, accountId, type: 'topup', amount: 10n, note: null, now: start });

  /** The threads that `work` starts, in the order they were started. */
  const workersOf = async (work: () => Promise<unknown>): Promise<Worker[]> => {
    const workers: Worker[] = [];
    const note = (worker: Worker): void => {
      workers.push(worker);
    };
    process.on('worker', note);
    await work();
    process.off('worker', note);
    return workers;
  };

  const places = [
    ['threads', {}],
    ['this thread', { inThisThread: true }],
  ] satisfies [string, Partial<SqliteStoreOptions>][];

  it.each(places)('finds all data again after it was closed, in %s', async (_place, options) => {
    const first = await open(options);
    const { accountId } = await addAccount(first, { balance: 70n });
    await first.close();
    const second = await open(options);
    expect(await available(second, accountId)).toBe(70n);
  });

  it.each(places)('in %s shows a write to every handle once it was acknowledged', async (_place, options) => {
    const [one, other] = [await open(options), await open()];
    const { accountId } = await addAccount(one, { balance: 0n });
    for (let count = 1n; count <= 50n; count += 1n) {
      await topUp(one, accountId, `entry ${count}`);
      expect(await available(other, accountId)).toBe(count * 10n);
      expect(await available(one, accountId)).toBe(count * 10n);
    }
  });

  it('answers the reads of one turn together, those that fail each for itself', async () => {
    const store = await open();
    const { accountId } = await addAccount(store, { balance: 70n });
    const wrong = { id: { not: 'a text' }, accountId } as unknown as { id: string; accountId: string };
    const answers = await Promise.allSettled([
      available(store, accountId),
      store.getJob(wrong),
      available(store, accountId),
    ]);
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: 70n },
      { status: 'rejected', reason: { reason: 'failed' } },
      { status: 'fulfilled', value: 70n },
    ]);
    await topUp(store, accountId, 'after');
    expect(await available(store, accountId)).toBe(80n);
  });

  it('uses a write-ahead log', async () => {
    await open();
    const database = new DatabaseSync(file());
    expect(database.prepare('pragma journal_mode').get()).toEqual({ journal_mode: 'wal' });
    database.close();
  });

  it('waits while another process writes, and then continues', async () => {
    const store = await open(patience);
    const { accountId } = await addAccount(store, { balance: 0n });
    const other = new DatabaseSync(file());
    other.exec('begin immediate');
    const posted = topUp(store, accountId, 'entry');
    // A read on its own connection does not wait for the lock.
    expect(await available(store, accountId)).toBe(0n);
    other.exec('commit');
    other.close();
    expect(await posted).toMatchObject({ outcome: 'posted', available: 10n });
  });

  it('rejects a write if another process does not stop, changes nothing and works later', async () => {
    const store = await open({ busyTimeoutMs: 50 });
    const { accountId } = await addAccount(store, { balance: 0n });
    const other = new DatabaseSync(file());
    other.exec('begin immediate');
    await expect(topUp(store, accountId, 'entry 1')).rejects.toThrow(/database is locked/);
    other.exec('rollback');
    other.close();
    expect(await topUp(store, accountId, 'entry 2')).toMatchObject({ available: 10n });
    await assertSoundBooks(store);
  });

  it('refuses a command if too many wait, does not try it and answers the others', async () => {
    const store = await open({ maxWaiting: 3 });
    const { accountId } = await addAccount(store, { balance: 0n });
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => topUp(store, accountId, `entry ${index}`)),
    );
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(7);
    for (const result of refused) expect(result).toMatchObject({ reason: { reason: 'overloaded' } });
    expect(await available(store, accountId)).toBe(30n);
  });

  it('rejects what waits and fails its ping when the writer dies', async () => {
    let store: Store | undefined;
    const [writer] = await workersOf(async () => {
      store = await open();
    });
    const { accountId, keyId } = await addAccount(store!);
    const waiting = Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        store!.openJob(opening(runningJob({ accountId, keyId }, { id: `job ${index}` }), { hold: 1n })),
      ),
    );
    await writer!.terminate();
    for (const result of await waiting)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ reason: 'crashed' });
    await expect(store!.ping()).rejects.toMatchObject({ reason: 'crashed' });
    await store!.close();
    await assertSoundBooks(await open());
  });

  it('rejects what waits when the reader dies, and reads on with another one', async () => {
    const store = await open();
    const { accountId } = await addAccount(store, { balance: 70n });
    const [reader] = await workersOf(() => store.ping());
    const waiting = Promise.allSettled(Array.from({ length: 20 }, () => store.getAccount(accountId)));
    await reader!.terminate();
    for (const result of await waiting)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ reason: 'crashed' });
    await store.ping();
    expect(await available(store, accountId)).toBe(70n);
  });

  it.each(places)(
    'in %s answers waiting commands before it closes, and refuses later ones',
    async (_place, options) => {
      const store = await open(options);
      const { accountId } = await addAccount(store, { balance: 0n });
      const waiting = Array.from({ length: 20 }, (_, index) => topUp(store, accountId, `entry ${index}`));
      const closing = store.close();
      await expect(topUp(store, accountId, 'late')).rejects.toMatchObject({ reason: 'closed' });
      await expect(store.ping()).rejects.toMatchObject({ reason: 'closed' });
      await closing;
      for (const answer of waiting) expect(await answer).toMatchObject({ outcome: 'posted' });
      await store.close();
      expect(await available(await open(), accountId)).toBe(200n);
    },
  );

  it.each(places)(
    'in %s names the problem if the file cannot be opened, and leaves no thread behind',
    async (_place, options) => {
      await expect(open({ ...options, file: join(folder, 'nowhere', 'x.sqlite') })).rejects.toThrow(
        /unable to open database file/,
      );
      await writeFile(file(), 'this is a letter, and not a database, whatever its name says. '.repeat(100));
      const workers = await workersOf(() =>
        expect(open(options)).rejects.toMatchObject({ message: expect.stringContaining('not a database') }),
      );
      // A thread that has ended has no id any more.
      expect(workers.filter(({ threadId }) => threadId !== -1)).toEqual([]);
    },
  );
});
