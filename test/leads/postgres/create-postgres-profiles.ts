import { vi } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { openForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import {
  connectionTo,
  findLeads,
  readSet,
  type PostgresAddress,
} from '../../../src/leads/postgres/lead-set.ts';
import { openPostgresIndex } from '../../../src/leads/postgres/open-postgres-index.ts';
import { createPool } from '../../../src/store/postgres/connection.ts';
import type { Store } from '../../../src/store/store.ts';
import { postgresUrl } from '../../store/open-store-at.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
import type { TestProfiles } from '../test-profiles.ts';

export interface PostgresProfiles extends TestProfiles, Pick<TestStore, 'sql'> {
  place: Required<PostgresAddress>;
  store: Store;
  /** Locks a table, as its removal does. */
  lockTable(name: string): Promise<LockedTable>;
}

export interface LockedTable {
  /** Resolves when so many statements wait for the lock. */
  hasWaiter(count?: number): Promise<void>;
  /** Runs `last`, such as the removal of the table, and ends the lock. */
  release(last?: string): Promise<void>;
}

/** So small that few profiles are in several parts. */
const partSize = 7;

/** A schema without profiles. */
export const createPostgresProfiles = async (): Promise<PostgresProfiles> => {
  const engine = testEngines().find(({ kind }) => kind === 'postgres');
  if (engine === undefined) throw new Error('PostgreSQL does not answer');
  const { store, location: schema, sql, remove } = await engine.create();
  const people = await openForgottenPeople(store);
  const place = { url: postgresUrl, schema };
  const pool = createPool(connectionTo(place, { statementTimeoutMs: 60_000 }), { size: 2, log: silentLog });
  return {
    place,
    store,
    people,
    sql,
    openKeeper: async (list = people) => openPostgresIndex({ ...place, people: list, partSize }),
    search: (queries) => Promise.all(queries.map((query) => findLeads(pool, query))),
    facets: async () => (await readSet(pool))?.facets,
    lockTable: async (name) => {
      const client = await pool.connect();
      await client.query(`begin; lock table ${name} in access exclusive mode`);
      return {
        hasWaiter: (count = 1) =>
          vi.waitFor(async () => {
            const { rows } = await pool.query(
              'select 1 from pg_locks join pg_class on pg_class.oid = relation where not granted and starts_with(relname, $1)',
              [name],
            );
            if (rows.length < count) throw new Error(`${rows.length} wait`);
          }, 60_000),
        release: async (last = 'select') => {
          await client.query(`${last}; commit`);
          client.release();
        },
      };
    },
    remove: async () => {
      await pool.end();
      await remove();
    },
  };
};
