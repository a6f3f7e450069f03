import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import type { LeadIndex } from '../../../src/leads/lead-index.ts';
import { compareLeads } from '../../../src/leads/query/lead-filters.ts';
import { lockProfiles, readManifest } from '../../../src/leads/sqlite/profiles-folder.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf } from '../lead-input-of.ts';
import { createSqliteProfiles, type SqliteProfiles } from './create-sqlite-profiles.ts';

const { signal } = new AbortController();
const leads = [...generateLeads({ seed: 3, profiles: 300 })];

let made: SqliteProfiles;
let folder: string;
beforeEach(async () => {
  made = await createSqliteProfiles();
  ({ folder } = made);
});
afterEach(() => made.remove());

const open = (): Promise<LeadIndex> => made.openKeeper();

const inFile = (sql: string): void => {
  const database = new DatabaseSync(made.file());
  database.exec(sql);
  database.close();
};

describe('a person who asks to be forgotten', () => {
  const person = buildLead({
    username: 'Private.Person',
    full_name: 'Privata Personova',
    bio: 'the zanzibarquux',
    public_email: 'reach.me.privately@example.com',
  });
  const holdsAny = (...texts: string[]): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(folder, name)).isFile())
      .filter((name) => texts.some((text) => readFileSync(join(folder, name)).includes(text)));
  const holdsPerson = (): string[] =>
    holdsAny('reach.me.privately', 'Private.Person', 'private.person', 'Personova', 'the zanzibarquux');
  const holdsWords = (): string[] => holdsAny('zanzibarquux', 'personova', 'privateperson');
  const findsPerson = async (): Promise<boolean> => {
    const found = await made.search([{ query: 'zanzibarquux', limit: 9 }, { limit: 500 }]);
    return found.flat().some(({ username }) => username === person.username);
  };

  it('is erased from every file at once, but for single words, and those with the next import', async () => {
    await made.take([...leads, person]);
    expect([holdsPerson().length, holdsWords().length, await findsPerson()]).toEqual([1, 1, true]);
    const { generation } = await made.stats();
    const keeper = await open();
    const named = ['private.person', 'PRIVATE.PERSON', 'nobody'];
    expect(await keeper.forget(named, { signal })).toEqual({ removed: 1 });
    expect([holdsPerson(), await findsPerson()]).toEqual([[], false]);
    expect(await made.exported()).toEqual(leads.toSorted(compareLeads));
    expect(await keeper.stats()).toMatchObject({ profiles: 300, forgotten: 2 });
    expect((await made.stats()).generation).not.toBe(generation);
    expect(await keeper.forget(['private.person'], { signal })).toEqual({ removed: 0 });
    await made.take([buildLead({ username: 'another' })]);
    expect([holdsPerson(), holdsWords()]).toEqual([[], []]);
  });

  it('leaves nothing behind when their profile is replaced', async () => {
    await made.take([...leads, person]);
    await made.take([buildLead({ username: 'PRIVATE.person' })]);
    expect(holdsAny('reach.me.privately', 'Personova', 'zanzibarquux', 'personova')).toEqual([]);
    await made.take([person]);
    await made.take([buildLead({ username: 'another' })], { mode: 'replace' });
    expect([holdsPerson(), holdsWords()]).toEqual([[], []]);
  });

  it('leaves nothing behind in a large file', async () => {
    const many = [...generateLeads({ seed: 8, profiles: 20_000 })];
    await made.take([...many.slice(0, 9_000), person, ...many.slice(9_000)], { input: { batchRows: 1_000 } });
    await (await open()).forget([person.username], { signal });
    expect(holdsPerson()).toEqual([]);
    await made.take(many.slice(0, 10));
    expect(holdsWords()).toEqual([]);
  });

  it('is left out by every import until restored', async () => {
    const keeper = await open();
    await keeper.forget(['private.person'], { signal });
    expect(await made.take([...leads, person, person])).toMatchObject({ added: 300, forgotten: 2 });
    expect(await made.take([person], { mode: 'replace' })).toMatchObject({
      added: 0,
      forgotten: 1,
      profiles: 0,
    });
    expect(await keeper.remember(['PRIVATE.person', 'nobody'])).toEqual({ restored: 1 });
    expect(await made.take([person])).toMatchObject({ added: 1, forgotten: 0, profiles: 1 });
  });

  it.each<{ what: string; finish: () => Promise<unknown> }>([
    { what: 'a sweep', finish: async () => (await open()).sweep() },
    { what: 'an import', finish: () => made.take([buildLead({ username: 'another' })]) },
    { what: 'a second deletion', finish: async () => (await open()).forget([person.username], { signal }) },
  ])('is erased by $what if the deletion ended when only the list had them', async ({ finish }) => {
    await made.take([...leads, person]);
    await made.people.add([person.username]);
    expect(await findsPerson()).toBe(true);
    expect((await made.exported()).map(({ username }) => username)).not.toContain(person.username);
    await finish();
    expect([holdsPerson(), await findsPerson()]).toEqual([[], false]);
    await (await open()).sweep();
    const { revision } = await made.people.read();
    expect(readManifest(folder)).toMatchObject({ swept: revision, profiles: (await made.exported()).length });
  });

  it('does not change the manifest if it needs no sweep', async () => {
    await made.take(leads);
    const manifest = readFileSync(join(folder, 'current.json'));
    await (await open()).sweep();
    expect(readFileSync(join(folder, 'current.json'))).toEqual(manifest);
  });

  it('is erased from the profiles that are searched during an import, and from those that come', async () => {
    await made.take([...leads, person]);
    const found: boolean[] = [];
    const beforeBatch = async (row: number): Promise<void> => {
      if (row !== 100) return;
      expect(await (await open()).forget([person.username], { signal })).toEqual({ removed: 1 });
      found.push(await findsPerson());
    };
    const rows = [person, ...leads.slice(0, 200), person];
    expect(await made.take(rows, { input: { beforeBatch } })).toMatchObject({ rows: 202, profiles: 300 });
    expect([found, await findsPerson(), holdsPerson(), holdsWords()]).toEqual([[false], false, [], []]);
  });

  // The list is read five times: before the import, for its rows, before its switch, after it, and once too many.
  const moments = [1, 2, 3, 4, 5].flatMap((reading) =>
    (['before', 'after'] as const).map((when) => ({ reading, when })),
  );
  it.each(moments)(
    'is erased, $when the import reads the list for the time $reading',
    async ({ reading, when }) => {
      await made.take([...leads, person]);
      let readings = 0;
      const forget = async (): Promise<void> =>
        void (await (await open()).forget([person.username], { signal }));
      const people: ForgottenPeople = {
        ...made.people,
        read: async () => {
          readings += 1;
          const isNow = readings === reading;
          if (isNow && when === 'before') await forget();
          const list = await made.people.read();
          if (isNow && when === 'after') await forget();
          return list;
        },
      };
      const keeper = await made.openKeeper(people);
      const rows = [person, ...leads.slice(0, 50)];
      await keeper.importLeads({ input: leadInputOf(rows), mode: 'upsert', signal });
      if (readings < reading) await forget();
      expect([await findsPerson(), holdsPerson()]).toEqual([false, []]);
      expect(await made.exported()).toHaveLength(300);
      await (await open()).sweep();
      expect(await made.stats()).toMatchObject({ profiles: 300, forgotten: 1 });
    },
  );

  it('is not found if their profile could not be erased, and is erased by a second call', async () => {
    await made.take([...leads, person]);
    inFile("CREATE TRIGGER no BEFORE DELETE ON people BEGIN SELECT RAISE(ABORT, 'not now'); END");
    const keeper = await open();
    await expect(keeper.forget([person.username], { signal })).rejects.toThrow(
      /erased \(not now\).*Searches no longer find/,
    );
    expect((await made.people.find([person.username], { signal })).size).toBe(1);
    inFile('DROP TRIGGER no');
    expect(holdsPerson()).not.toEqual([]);
    expect(await keeper.forget([person.username], { signal })).toEqual({ removed: 1 });
    expect(holdsPerson()).toEqual([]);
  });

  it('is not put on the list by a deletion that is stopped before', async () => {
    await made.take([...leads, person]);
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect((await open()).forget([person.username], { signal: stopped })).rejects.toThrow('stopped');
    expect(await made.stats()).toMatchObject({ profiles: 301, forgotten: 0 });
  });

  it('is forgotten beside another change of the manifest', async () => {
    await made.take([...leads, person]);
    const lock = lockProfiles(folder);
    expect(await (await open()).forget([person.username], { signal })).toEqual({ removed: 1 });
    expect(holdsPerson()).toEqual([]);
    lock.close();
    await (await open()).sweep();
    expect(await made.stats()).toMatchObject({ profiles: 300 });
  });

  it('may be one of 3,000', async () => {
    const many = [...generateLeads({ seed: 5, profiles: 5_000 })];
    await made.take(many, { input: { batchRows: 1_000 } });
    const names = many.slice(0, 3_000).map(({ username }) => username);
    expect(await (await open()).forget(names, { signal })).toEqual({ removed: 3_000 });
    expect(await made.exported()).toEqual(many.slice(3_000).sort(compareLeads));
    expect(await (await open()).remember(names)).toEqual({ restored: 3_000 });
  });

  it('is erased by a sweep after a deletion of many that ended in the middle', async () => {
    const stored = (): unknown[] => {
      using database = new DatabaseSync(made.file());
      return database.prepare('SELECT key FROM people').all();
    };
    await made.take(['first', 'last', 'other'].map((username) => buildLead({ username })));
    const many = Array.from({ length: 500 }, (_, index) => `nobody${index}`);
    inFile(
      "CREATE TRIGGER no BEFORE DELETE ON people WHEN OLD.key = 'last' BEGIN SELECT RAISE(ABORT, 'no'); END",
    );
    const keeper = await open();
    await expect(keeper.forget(['first', ...many, 'last'], { signal })).rejects.toThrow(
      'Run the command again',
    );
    expect(stored()).toMatchObject([{ key: 'last' }, { key: 'other' }]);
    inFile('DROP TRIGGER no');
    await keeper.sweep();
    expect(stored()).toMatchObject([{ key: 'other' }]);
    expect(await made.stats()).toMatchObject({ profiles: 1 });
  });
});
