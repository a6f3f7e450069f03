import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  isForgotten,
  loadForgotten,
  type ForgottenCopy,
} from '../../../src/leads/postgres/forgotten-copy.ts';
import { createRecordedLog } from '../../cache/recorded-log.ts';
import { dropSchema, onPostgres } from '../../store/open-test-store.ts';
import { createLeadDatabase, noAbort, waitUntil, type LeadDatabase } from './lead-database.ts';
import { hasService } from '../../outside-services.ts';

describe.runIf(hasService('PostgreSQL'))('the list of forgotten people in PostgreSQL', () => {
  let database: LeadDatabase;
  beforeEach(() => {
    database = createLeadDatabase();
  });
  afterEach(() => database.remove());

  const inSchema = <T>(work: (client: Parameters<Parameters<typeof onPostgres>[0]>[0]) => Promise<T>) =>
    onPostgres(async (client) => {
      await client.query(`set search_path = ${database.schema}`);
      return work(client);
    });
  const load = (): Promise<ForgottenCopy> => inSchema((client) => loadForgotten(client));

  it('is nobody at first', async () => {
    await database.openKeeper();
    const list = await load();
    expect(list.digests).toHaveLength(0);
    expect(isForgotten(list, 'anna')).toBe(false);
  });

  it.each([1, 2, 3, 1_000])('names all of %i people, in any case, and nobody else', async (count) => {
    const keeper = await database.openKeeper();
    const people = Array.from({ length: count }, (_, index) => `Zoë.${index}`);
    await keeper.forget(people, { signal: noAbort() });
    const list = await load();
    expect(people.filter((name) => !isForgotten(list, name.toUpperCase()))).toEqual([]);
    expect(people.filter((name) => isForgotten(list, `${name}_`))).toEqual([]);
  });

  it('is another one after every change, and only then', async () => {
    const keeper = await database.openKeeper();
    const revisions = [(await load()).revision];
    await keeper.forget(['anna'], { signal: noAbort() });
    revisions.push((await load()).revision);
    await keeper.remember(['anna']);
    revisions.push((await load()).revision);
    expect(new Set(revisions).size).toBe(3);
    expect((await load()).revision).toBe(revisions[2]);
  });

  it('is told in tables of an earlier version, too', async () => {
    const keeper = await database.openKeeper();
    await keeper.forget(['anna'], { signal: noAbort() });
    await inSchema((client) =>
      client.query(
        `alter table state drop column people_revision; delete from migrations where name like '0002%'`,
      ),
    );
    const { forgotten } = await database.openLeads();
    await expect(forgotten.find(['anna'], { signal: noAbort() })).rejects.toThrow(/not read yet/);
    await waitUntil(() => forgotten.isKnown());
    expect(await forgotten.find(['bert', 'Anna'], { signal: noAbort() })).toEqual(new Set(['Anna']));
  });

  it('of an earlier database is asked, too, until the next start', async () => {
    const keeper = await database.openKeeper();
    await keeper.forget(['anna'], { signal: noAbort() });
    const { log, lines } = createRecordedLog();
    const { forgotten } = await database.openLeads({ log });
    const find = () => forgotten.find(['anna', 'bert', 'carl'], { signal: noAbort() });
    await waitUntil(() => forgotten.isKnown());
    await dropSchema(database.schema);
    const other = await database.openKeeper();
    await other.forget(['bert'], { signal: noAbort() });
    await waitUntil(async () => (await find()).has('bert'));
    expect(await find()).toEqual(new Set(['anna', 'bert']));
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: expect.stringMatching(/another one than before/) }),
    );
  });
});
