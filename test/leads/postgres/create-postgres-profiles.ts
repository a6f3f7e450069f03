import { silentLog } from '../../../src/kit/log.ts';
import { openForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import {
  connectionTo,
  findLeads,
  readSet,
  type PostgresPlace,
} from '../../../src/leads/postgres/lead-set.ts';
import { openPostgresKeeper } from '../../../src/leads/postgres/open-postgres-keeper.ts';
import { createPool } from '../../../src/store/postgres/connection.ts';
import type { Store } from '../../../src/store/store.ts';
import { postgresUrl } from '../../store/open-store-at.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
import type { TestProfiles } from '../lead-engines.ts';

export interface PostgresProfiles extends TestProfiles, Pick<TestStore, 'sql'> {
  place: Required<PostgresPlace>;
  store: Store;
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
    openKeeper: async (list = people) => openPostgresKeeper({ ...place, people: list, partSize }),
    search: (queries) => Promise.all(queries.map(async (query) => (await findLeads(pool, query)).leads)),
    facets: async () => (await readSet(pool))?.facets,
    remove: async () => {
      await pool.end();
      await remove();
    },
  };
};
