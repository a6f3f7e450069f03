import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/kit/ids.ts';
import {
  forgottenListId,
  openForgottenPeople,
  type ForgottenPeople,
} from '../../src/leads/forgotten-people.ts';
import { usernameKey } from '../../src/leads/query/fold-text.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

const { signal } = new AbortController();

const username = fc.oneof(
  fc.constantFrom('anna', 'Anna', 'bert.b', 'ZOË', 'zoë', 'zoe\u0308', 'J\u030c'),
  fc.nat(20).map((number) => `user_${number}`),
);
const usernames = fc.array(username, { maxLength: 8 });
const stepArbitrary = fc.oneof(
  fc.record({ type: fc.constantFrom('add' as const, 'remove' as const), usernames }),
  fc.record({ type: fc.constant('take over' as const), salt: fc.constantFrom('0A', '0B'), usernames }),
);
type Step = typeof stepArbitrary extends fc.Arbitrary<infer T> ? T : never;

describe.each(testEngines())('forgotten people on $kind', ({ create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  /** Adds people to the list of another salt, as if it were that of an earlier version. */
  const takeOver = async (salt: string, names: readonly string[]): Promise<void> => {
    const id = forgottenListId(salt);
    await data.store.addForgottenList({ id, salt, onlyFirst: false });
    const digests = names.map((name) => sha256(`${salt} ${usernameKey(name)}`));
    await data.store.addForgotten({ list: id, digests });
  };

  it('are those who were added and not removed since, in every process and on every list', async () => {
    const handles = [
      await openForgottenPeople(data.store),
      await openForgottenPeople(await data.openAnother()),
    ];
    /** The salts of the lists of each person; '' is that of the first list. */
    const forgotten = new Map<string, Set<string>>();
    const salts = new Set(['']);
    const addTo = (salt: string, names: readonly string[]): void => {
      for (const key of names.map(usernameKey))
        forgotten.set(key, new Set([...(forgotten.get(key) ?? []), salt]));
      salts.add(salt);
    };
    let revision = 0;
    const take = async (people: ForgottenPeople, step: Step): Promise<void> => {
      switch (step.type) {
        case 'add': {
          const next = await people.add(step.usernames);
          expect(next).toBeGreaterThan(revision);
          revision = next;
          return addTo('', step.usernames);
        }
        case 'remove': {
          const keys = [...new Set(step.usernames.map(usernameKey))];
          const removed = keys.filter((key) => forgotten.delete(key));
          expect(await people.remove(step.usernames)).toBe(removed.length);
          return;
        }
        case 'take over': {
          await takeOver(step.salt, step.usernames);
          return addTo(step.salt, step.usernames);
        }
      }
    };
    const check = async (people: ForgottenPeople, asked: readonly string[]): Promise<void> => {
      const expected = asked.filter((name) => forgotten.has(usernameKey(name)));
      expect(await people.find(asked, { signal })).toEqual(new Set(expected));
      const snapshot = await people.read();
      expect(asked.filter(snapshot.includes)).toEqual(expected);
      expect(snapshot.ids).toHaveLength(salts.size);
      expect(snapshot.revision).toBeGreaterThanOrEqual(revision);
      const entries = [...forgotten.values()].reduce((sum, lists) => sum + lists.size, 0);
      expect(await people.count()).toBe(entries);
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...handles), stepArbitrary), { maxLength: 6 }),
        usernames,
        async (steps, asked) => {
          for (const [people, step] of steps) await take(people, step);
          for (const people of handles) await check(people, asked);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('who were added up to a revision are all in what is read with it', async () => {
    const [people, other] = [
      await openForgottenPeople(data.store),
      await openForgottenPeople(await data.openAnother()),
    ];
    let added = 0;
    const revisions = new Map<string, number>();
    const adding = async (): Promise<void> => {
      for (; added < 60; added += 1) revisions.set(`user_${added}`, await other.add([`user_${added}`]));
    };
    const reading = async (): Promise<void> => {
      while (added < 60) {
        const { revision, includes } = await people.read();
        const missing = [...revisions].filter(([name, at]) => at <= revision && !includes(name));
        expect(missing).toEqual([]);
      }
    };
    await Promise.all([adding(), reading()]);
  });

  it('are added and removed by the thousand', async () => {
    const people = await openForgottenPeople(data.store);
    const names = Array.from({ length: 25_000 }, (_, index) => `user_${index}`);
    await people.add(names);
    expect(await people.count()).toBe(25_000);
    const { includes } = await people.read();
    expect(names.every(includes)).toBe(true);
    expect(names.some((name) => includes(`${name}x`))).toBe(false);
    expect(await people.remove(names.slice(1))).toBe(24_999);
    expect(await people.find(names.slice(0, 9), { signal })).toEqual(new Set(['user_0']));
  });

  it('cannot be read or added to while their list is gone from the store', async () => {
    const people = await openForgottenPeople(data.store);
    await people.add(['anna']);
    await data.sql('delete from forgotten_lists');
    await expect(people.find(['anna'], { signal })).rejects.toThrow(/the list \w+ .* is gone from the store/);
    await expect(people.read()).rejects.toThrow('is gone from the store');
    await expect(people.add(['bert'])).rejects.toThrow('there is no list');
    await expect(people.remove(['anna'])).rejects.toThrow('is gone from the store');
  });

  it('are looked up no longer than the caller waits', async () => {
    const people = await openForgottenPeople({
      ...data.store,
      findForgotten: () => new Promise<never>(() => undefined),
    });
    const controller = new AbortController();
    const finding = people.find(['anna'], controller);
    controller.abort(new Error('The caller has left.'));
    await expect(finding).rejects.toThrow('The caller has left.');
  });
});
