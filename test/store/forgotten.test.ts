import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { onPostgres, testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('the lists of forgotten people on $kind', ({ kind, create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  const ids = async (): Promise<string[]> => {
    const { lists } = await data.store.readForgottenLists(undefined);
    return lists.map(({ id }) => id);
  };

  it('begin once, whoever is first, and then keep their order', async () => {
    const { store } = data;
    expect(await store.readForgottenLists(undefined)).toEqual({ lists: [], revision: 0 });
    const other = await data.openAnother();
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? store : other).addForgottenList({ id: `${index}`, salt: 'salt', onlyFirst: true }),
      ),
    );
    const [first] = await ids();
    expect(await ids()).toHaveLength(1);
    await Promise.all(
      ['z', 'z', 'z'].map((id) => other.addForgottenList({ id, salt: 'other', onlyFirst: false })),
    );
    await store.addForgottenList({ id: 'a', salt: 'third', onlyFirst: false });
    expect(await ids()).toEqual([first, 'z', 'a']);
    expect((await other.readForgottenLists(undefined)).lists[1]).toEqual({
      id: 'z',
      salt: 'other',
      moved: [],
    });
  });

  it('note which older lists were taken over', async () => {
    const { store } = data;
    for (const id of ['a', 'b']) await store.addForgottenList({ id, salt: 'salt', onlyFirst: false });
    await store.noteMovedList({ id: 'a', tally: '2:ab' });
    await store.noteMovedList({ id: 'a', tally: '3:cd' });
    const { lists } = await store.readForgottenLists(undefined);
    expect(lists.map(({ moved }) => moved)).toEqual([['2:ab', '3:cd'], []]);
  });

  it('have each digest once, with a revision that rises, in all processes', async () => {
    const { store } = data;
    const other = await data.openAnother();
    await store.addForgottenList({ id: 'a', salt: 'salt', onlyFirst: true });
    const revisions = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? store : other).addForgotten({ list: 'a', digests: ['same', `${index}`] }),
      ),
    );
    expect(new Set(revisions).size).toBe(20);
    const { revision } = await store.readForgottenLists(undefined);
    expect(revision).toBe(Math.max(...revisions));
    expect(await other.countForgotten(undefined)).toBe(21);
    expect(await other.findForgotten(['7', 'nobody', 'same'])).toEqual({
      lists: ['a'],
      digests: expect.toSatisfy((digests: string[]) => digests.toSorted().join() === '7,same'),
    });
    const removals = await Promise.all(
      [store, other].map((one) => one.removeForgotten(['7', 'same', 'nobody'])),
    );
    expect(removals.flatMap(({ digests }) => digests).sort()).toEqual(['7', 'same']);
    expect(removals.map(({ lists }) => lists)).toEqual([['a'], ['a']]);
    expect(await store.findForgotten(['7', 'same'])).toEqual({ lists: ['a'], digests: [] });
  });

  it.runIf(kind === 'postgres')(
    'take nobody while another transaction has locked their revision',
    async () => {
      const { store, location } = data;
      await store.addForgottenList({ id: 'a', salt: 'salt', onlyFirst: true });
      let isAdded = false;
      const adding = await onPostgres(async (client) => {
        await client.query(`begin; select revision from ${location}.forgotten_revision for update`);
        const begun = store.addForgotten({ list: 'a', digests: ['x'] }).then(() => {
          isAdded = true;
        });
        const { rows } = await client.query('select pg_backend_pid() as pid');
        const isWaiting = async (): Promise<boolean> => {
          const waiting = await client.query(
            'select 1 from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
            [rows[0]?.pid],
          );
          return waiting.rows.length > 0;
        };
        await vi.waitUntil(isWaiting, { timeout: 60_000 });
        expect(isAdded).toBe(false);
        await client.query('commit');
        return { begun };
      });
      await adding.begun;
      expect((await store.findForgotten(['x'])).digests).toEqual(['x']);
    },
  );

  it('are read a page after another, in the order of the digests', async () => {
    const { store } = data;
    await store.addForgottenList({ id: 'a', salt: 'salt', onlyFirst: true });
    await store.addForgotten({ list: 'a', digests: ['c', 'a', 'd', 'b0', 'b'] });
    expect(await store.listForgotten({ after: '', limit: 3 })).toEqual(['a', 'b', 'b0']);
    expect(await store.listForgotten({ after: 'b0', limit: 3 })).toEqual(['c', 'd']);
  });

  it('take nobody whose list is not in the store', async () => {
    const { store } = data;
    await store.addForgottenList({ id: 'a', salt: 'salt', onlyFirst: true });
    await expect(store.addForgotten({ list: 'b', digests: ['x'] })).rejects.toThrow('there is no list b');
    expect(await store.countForgotten(undefined)).toBe(0);
  });
});
