import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { postgresEngine, sqliteEngine, type Engine } from '../../../src/store/migrations/engine.ts';
import { migrations, missingStatements, type Migrations } from '../../../src/store/migrations/migrations.ts';
import { testEngines, type TestPlace } from '../open-test-store.ts';

const engines: Record<Engine['kind'], Engine> = { sqlite: sqliteEngine, postgres: postgresEngine };

describe.each(testEngines())('a store on $kind', ({ kind, createPlace }) => {
  let place: TestPlace;
  beforeEach(async () => {
    place = await createPlace();
  });
  afterEach(() => place.remove());

  const executed = async (): Promise<unknown[]> =>
    (await place.sql('select name from kysely_migration order by name')).map(({ name }) => name);

  it('is made once when several processes open it at the same moment', async () => {
    const [one, two] = await Promise.all([place.openAnother(), place.openAnother()]);
    await one.getOrCreateSecret({ name: 'a', value: 'of one' });
    expect(await two.getOrCreateSecret({ name: 'a', value: 'of two' })).toBe('of one');
    expect(await executed()).toEqual(Object.keys(migrations));
    expect(await one.listMigrations(undefined)).toEqual(Object.keys(migrations));
    expect((await two.checkLedger()).problems).toEqual([]);
  });

  it('gets the migrations of a later version once, in their order, and keeps its data', async () => {
    const store = await place.openAnother();
    await store.getOrCreateSecret({ name: 'a', value: 'kept' });
    const later: Migrations = {
      ...migrations,
      '0002-notes': ({ id, tableEnd }) => [`create table notes (id ${id} not null primary key)${tableEnd}`],
      '0003-first-note': () => [`insert into notes (id) values ('first')`],
    };
    const upgrade = async () =>
      place.sql(...missingStatements((await executed()).map(String), engines[kind], later));
    await upgrade();
    expect(await executed()).toEqual([...Object.keys(migrations), '0002-notes', '0003-first-note']);
    expect(missingStatements((await executed()).map(String), engines[kind], later)).toEqual([]);
    expect(await place.sql('select id from notes')).toEqual([{ id: 'first' }]);
    expect(await store.getOrCreateSecret({ name: 'a', value: 'new' })).toBe('kept');
  });

  it('is refused by an older version after a newer one has changed it, and stays as it is', async () => {
    const store = await place.openAnother();
    await store.getOrCreateSecret({ name: 'a', value: 'kept' });
    // What this store reads with is open before the newer version comes.
    await store.listMigrations(undefined);
    await place.sql(
      `insert into kysely_migration values ('9999-of-a-newer-version', '2027-11-01T00:00:00.000Z')`,
    );
    await expect(place.openAnother()).rejects.toMatchObject({
      reason: 'failed',
      message: expect.stringContaining(
        'newer version of Causeway has changed this store (migration 9999-of-a-newer-version); start that version',
      ),
    });
    expect((await executed()).at(-1)).toBe('9999-of-a-newer-version');
    expect((await store.listMigrations(undefined)).at(-1)).toBe('9999-of-a-newer-version');
    expect(await store.getOrCreateSecret({ name: 'a', value: 'new' })).toBe('kept');
  });

  it('from before the first release is refused with a line that says what to do, and stays as it is', async () => {
    await place.sql(
      ...(kind === 'postgres' ? [`create schema ${place.location}`] : []),
      `create table kysely_migration (name varchar(255) not null primary key, timestamp varchar(255) not null)`,
      `insert into kysely_migration values ('0001-initial', ''), ('0020-lead-set', '')`,
    );
    await expect(place.openAnother()).rejects.toThrow(
      /: a version of Causeway from before the first release made this store, .*; export what matters with the version that wrote it, or start with an empty store/,
    );
    expect(await executed()).toEqual(['0001-initial', '0020-lead-set']);
  });

  it('refuses two payments that name one job, in whatever way they come', async () => {
    const store = await place.openAnother();
    const payment = (identity: string, job: string) =>
      `insert into payments (identity, request_hash, network, asset, pay_to, amount, payload, requirements, state,
         job_id, created_at, updated_at)
       values ('${identity}', '', 'eip155:8453', '0xusdc', '0xseller', 1, '{}', '{}', 'delivered', ${job}, 0, 0)`;
    await place.sql(
      `insert into accounts (id, name, status, status_changed_at, created_at) values ('a', '', 'active', 0, 0)`,
      `insert into api_keys (id, account_id, hash, display, label, created_at) values ('k', 'a', '', '', '', 0)`,
      `insert into jobs (id, account_id, key_id, kind, model, status, attempts, max_attempts, deadline_at, created_at,
         finished_at, request) values ('job', 'a', 'k', 'chat', '', 'failed', 0, 1, 0, 0, 0, '')`,
      `insert into holds (job_id, account_id, amount, state, expires_at, ended_at)
         values ('job', 'a', 0, 'released', 0, 0)`,
      `insert into usage_sums (account_id, day, key_id, kind, model, status, tag, jobs, charged)
         values ('a', 0, 'k', 'chat', '', 'failed', '', 1, 0)`,
      payment('one', `'job'`),
      payment('two', 'null'),
    );
    const refusal = /unique/i;
    await expect(place.sql(payment('three', `'job'`))).rejects.toThrow(refusal);
    await expect(place.sql(`update payments set job_id = 'job' where identity = 'two'`)).rejects.toThrow(
      refusal,
    );
    await expect(
      place.sql(`update payments set job_id = 'job', refunded = 1 where identity = 'two'`),
    ).rejects.toThrow(refusal);
    expect((await store.findPaymentOfJob('job'))?.identity).toBe('one');
    expect((await store.checkLedger()).problems).toEqual([]);
  });
});

it.skipIf(testEngines().length < 2)('both engines have the same tables and columns', async () => {
  const columnsOf = {
    sqlite: () => `select t.name as table_name, c.name as column_name, c."notnull" as needed
      from sqlite_schema as t, pragma_table_xinfo(t.name) as c where t.type = 'table'`,
    postgres: (schema: string) => `select table_name, column_name, is_nullable = 'NO' as needed
      from information_schema.columns where table_schema = '${schema}'`,
  };
  /** Each has one table that the other does not need. */
  const own = /^(?:write_probe|lead_set)\b/;
  const found = await Promise.all(
    testEngines().map(async ({ kind, createPlace }) => {
      const place = await createPlace();
      try {
        await place.openAnother();
        const rows = await place.sql(columnsOf[kind](place.location));
        return rows
          .map((row) => [row['table_name'], row['column_name'], Boolean(row['needed'])].join(' '))
          .filter((line) => !own.test(line))
          .sort();
      } finally {
        await place.remove();
      }
    }),
  );
  expect(found[0]?.length).toBeGreaterThan(200);
  expect(found[0]).toEqual(found[1]);
});
