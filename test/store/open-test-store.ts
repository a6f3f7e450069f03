import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { inject } from 'vitest';
import { postgresEngine } from '../../src/store/migrations/engine.ts';
import { migrations } from '../../src/store/migrations/migrations.ts';
import type { Store } from '../../src/store/store.ts';
import { layStore } from '../data-template.ts';
import { hasService } from '../outside-services.ts';
import { openStoreAt, poolerUrl, postgresUrl, type StoreKind } from './open-store-at.ts';

/** A store of its own in a temporary file or schema. */
export interface TestStore {
  kind: StoreKind;
  store: Store;
  /** What `openStoreAt` opens again, from this process or another. */
  location: string;
  /** Another handle on the same data, as another process would have. */
  openAnother: () => Promise<Store>;
  /** Runs SQL past the store, to damage or to look. Integers of SQLite come as bigint. */
  sql: (...statements: string[]) => Promise<Record<string, unknown>[]>;
  /** Closes every handle and removes the data. */
  remove: () => Promise<void>;
}

export interface TestEngine {
  kind: StoreKind;
  /** A new and empty store. */
  create: () => Promise<TestStore>;
  /** A place for a store that nobody has opened yet. */
  createPlace: () => Promise<TestPlace>;
}

/** What a test store is before it is opened. */
export type TestPlace = Omit<TestStore, 'store'>;

/**
 * The engines to test: SQLite, unless a run is about a pooler, and PostgreSQL when it answers. For
 * `describe.each(testEngines())`. The embedded store has threads of its own in slow tests, as in production, and where a
 * test says so: to start them takes longer than most tests.
 */
export const testEngines = ({ storeThreads = inject('storeThreads') } = {}): TestEngine[] => {
  const engines = poolerUrl === undefined ? [engine('sqlite', () => createSqlitePlace(!storeThreads))] : [];
  if (hasService('PostgreSQL')) engines.push(engine('postgres', createPostgresPlace));
  return engines;
};

const engine = (kind: StoreKind, createPlace: () => Promise<TestPlace>): TestEngine => ({
  kind,
  createPlace,
  create: kind === 'sqlite' ? () => createOnSqlite(createPlace) : createOnPostgres,
});

const createOnSqlite = async (createPlace: () => Promise<TestPlace>): Promise<TestStore> => {
  const place = await createPlace();
  layStore(place.location);
  return Object.assign(place, { store: await place.openAnother() });
};

/** Schemas of former tests of this process, empty again: to make and drop one takes PostgreSQL a tenth of a second. */
const emptySchemas: string[] = [];

const createOnPostgres = async (): Promise<TestStore> => {
  const known = emptySchemas.pop();
  const schema = known ?? (await nameSchema());
  if (known === undefined) await laySchema(schema);
  // A schema that another process may write to, or whose tables the test may change, is not used again.
  let isOwn = true;
  const place = postgresPlace(schema, async () => {
    if (isOwn && (await emptySchema(schema))) emptySchemas.push(schema);
    else await dropSchema(schema);
  });
  return {
    ...place,
    get location() {
      isOwn = false;
      return schema;
    },
    sql: (...statements) => {
      isOwn &&= statements.every((statement) => /^(?:select|update)\b/.test(statement));
      return place.sql(...statements);
    },
    store: await place.openAnother(),
  };
};

/** Answers whether the schema is empty now; its sequences go on. Only a superuser may empty the ledger. */
const emptySchema = (schema: string): Promise<boolean> =>
  onPostgres(async (client) => {
    try {
      await client.query(
        `do $$ declare one text; begin
           set local session_replication_role = replica;
           for one in select tablename from pg_tables where schemaname = '${schema}' and tablename <> 'kysely_migration'
           loop execute format('delete from ${schema}.%I', one); end loop;
         end $$`,
      );
      return true;
    } catch {
      return false;
    }
  });

/** Makes a schema with all tables in one round trip. Migrations make a hundred of them. */
const laySchema = (schema: string): Promise<unknown> =>
  onPostgres((client) =>
    client.query(
      [
        `create schema ${schema}`,
        `set search_path = ${schema}`,
        ...Object.values(migrations).flatMap((statements) => statements(postgresEngine)),
        'create table kysely_migration (name text primary key)',
        ...Object.keys(migrations).map((name) => `insert into kysely_migration values ('${name}')`),
      ].join(';'),
    ),
  );

const createSqlitePlace = async (inThisThread: boolean): Promise<TestPlace> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-store-'));
  const location = join(folder, 'store.sqlite');
  return testPlace({
    kind: 'sqlite',
    location,
    inThisThread,
    sql: async (...statements) => {
      const database = new DatabaseSync(location, { timeout: 60_000 });
      try {
        return runOnSqlite(database, statements);
      } finally {
        database.close();
      }
    },
    drop: () => rm(folder, { recursive: true, force: true }),
  });
};

const createPostgresPlace = async (): Promise<TestPlace> => {
  const schema = await nameSchema();
  return postgresPlace(schema, () => dropSchema(schema));
};

const postgresPlace = (location: string, drop: () => Promise<void>): TestPlace =>
  testPlace({
    kind: 'postgres',
    location,
    sql: (...statements) =>
      onPostgres(async (client) => {
        await client.query(`set search_path = ${location}`);
        let rows: Record<string, unknown>[] = [];
        for (const statement of statements) ({ rows } = await client.query(statement));
        return rows;
      }),
    drop,
  });

/** Returns a new name. A pooler needs the role of that name. */
export const nameSchema = async (): Promise<string> => {
  const name = inject('schemaPrefix') + randomBytes(6).toString('hex');
  if (poolerUrl !== undefined)
    await onPostgres(async (client) => {
      await client.query(`create role ${name} superuser login`);
      const settings = {
        search_path: name,
        statement_timeout: '10s',
        idle_in_transaction_session_timeout: '10s',
      };
      for (const [key, value] of Object.entries(settings))
        await client.query(`alter role ${name} set ${key} = '${value}'`);
    });
  return name;
};

export const dropSchema = async (schema: string): Promise<void> => {
  await onPostgres((client) =>
    client.query(`drop schema if exists ${schema} cascade; drop role if exists ${schema}`),
  );
};

/** Runs `work` on a connection of its own. */
export const onPostgres = async <T>(
  work: (client: InstanceType<typeof Client>) => Promise<T>,
): Promise<T> => {
  const client = new Client({ connectionString: postgresUrl, connectionTimeoutMillis: 30_000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

interface TestPlaceParts extends Pick<TestPlace, 'kind' | 'location' | 'sql'> {
  inThisThread?: boolean;
  drop: () => Promise<void>;
}

const testPlace = ({ kind, location, inThisThread, sql, drop }: TestPlaceParts): TestPlace => {
  const opened: Store[] = [];
  const openAnother = async (): Promise<Store> => {
    const store = await openStoreAt(kind, location, inThisThread);
    opened.push(store);
    return store;
  };
  return {
    kind,
    location,
    openAnother,
    sql,
    remove: async () => {
      for (const store of opened) await store.close();
      await drop();
    },
  };
};

const runOnSqlite = (database: DatabaseSync, statements: string[]): Record<string, unknown>[] => {
  let rows: Record<string, unknown>[] = [];
  for (const text of statements) {
    const statement = database.prepare(text);
    statement.setReadBigInts(true);
    rows = statement.all();
  }
  return rows;
};
