import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';

export type StoreKind = Store['kind'];

export const postgresUrl = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

/** Opens the store of a test, from its process or another. `location` is a file or a schema. */
export const openStoreAt = (kind: StoreKind, location: string): Promise<Store> =>
  kind === 'sqlite'
    ? openSqliteStore({ file: location })
    : openPostgresStore({ url: postgresUrl, schema: location, poolSize: 5 });
