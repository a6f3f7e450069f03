import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { postgresEngine } from '../../src/store/migrations/engine.ts';
import { migrations } from '../../src/store/migrations/migrations.ts';
import type { Store } from '../../src/store/store.ts';
import { layStore } from '../data-template.ts';
import { hasService } from '../outside-services.ts';
import { openStoreAt, postgresUrl, type StoreKind } from './open-store-at.ts';

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
 * The engines to test: SQLite always, and PostgreSQL when it answers. For `describe.each(testEngines())`.
 */
export const testEngines = (): TestEngine[] => {
  const engines = [engine('sqlite', createSqlitePlace)];
  if (hasService('PostgreSQL')) engines.push(engine('postgres', createPostgresPlace));
  return engines;
};

const engine = (kind: StoreKind, createPlace: () => Promise<TestPlace>): TestEngine => ({
  kind,
  createPlace,
  create: async () => {
    const place = await createPlace();
    if (kind === 'sqlite') layStore(place.location);
    else await laySchema(place.location);
    return { ...place, store: await place.openAnother() };
  },
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

const createSqlitePlace = async (): Promise<TestPlace> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-store-'));
  const location = join(folder, 'store.sqlite');
  return testPlace({
    kind: 'sqlite',
    location,
    sql: async (...statements) => {
      const database = new DatabaseSync(location, { timeout: 5_000 });
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
  const location = newSchemaName();
  return testPlace({
    kind: 'postgres',
    location,
    sql: (...statements) =>
      onPostgres(async (client) => {
        await client.query(`set search_path = ${location}`);
        let rows: Record<string, unknown>[] = [];
        for (const statement of statements) ({ rows } = await client.query(statement));
        return rows;
      }),
    drop: () => dropSchema(location),
  });
};

export const newSchemaName = (): string => `store_test_${randomBytes(8).toString('hex')}`;

export const dropSchema = async (schema: string): Promise<void> => {
  await onPostgres((client) => client.query(`drop schema if exists ${schema} cascade`));
};

/** Runs `work` on a connection of its own. */
export const onPostgres = async <T>(
  work: (client: InstanceType<typeof Client>) => Promise<T>,
): Promise<T> => {
  const client = new Client({ connectionString: postgresUrl, connectionTimeoutMillis: 3_000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

interface TestPlaceParts extends Pick<TestPlace, 'kind' | 'location' | 'sql'> {
  drop: () => Promise<void>;
}

const testPlace = ({ kind, location, sql, drop }: TestPlaceParts): TestPlace => {
  const opened: Store[] = [];
  const openAnother = async (): Promise<Store> => {
    const store = await openStoreAt(kind, location);
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
