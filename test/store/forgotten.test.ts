import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('the lists of forgotten people on $kind', ({ create }) => {
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
        [store, other][index % 2]?.addForgottenList({ id: `${index}`, salt: 'salt', onlyFirst: true }),
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
        [store, other][index % 2]?.addForgotten({ list: 'a', digests: ['same', `${index}`] }),
      ),
    );
    expect(new Set(revisions).size).toBe(20);
    const { revision } = await store.readForgottenLists(undefined);
    expect(revision).toBe(Math.max(...revisions.map(Number)));
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
