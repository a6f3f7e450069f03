import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';

export type StoreKind = Store['kind'];

export const postgresUrl = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

/** A pooler in transaction mode in front of that server. If it is set, the stores of tests go through it. */
export const poolerUrl = process.env['TEST_POOLER_URL'];

/** The addresses of a schema. Behind the pooler it is found by the settings of a role that has its name. */
export const schemaAddress = (schema: string, parameters = ''): { url: string; directUrl?: string } => {
  const direct = postgresUrl + parameters;
  if (poolerUrl === undefined) return { url: direct };
  const url = new URL(poolerUrl + parameters);
  url.username = schema;
  return { url: url.href, directUrl: direct };
};

/** On a machine with a busy disk, another process may hold the lock on a file for seconds. */
export const patience = { busyTimeoutMs: 60_000, commandTimeoutMs: 110_000 };

/** Opens the store of a test, from its process or another. `location` is a file or a schema. */
export const openStoreAt = (kind: StoreKind, location: string, inThisThread = false): Promise<Store> =>
  kind === 'sqlite'
    ? openSqliteStore({ file: location, ...patience, inThisThread })
    : openPostgresStore({ ...schemaAddress(location), schema: location, poolSize: 5 });
