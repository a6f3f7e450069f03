import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { layStore } from '../data-template.ts';

/** Opens an empty embedded store in this thread, which goes with the test. */
export const openTestStoreHere = async (): Promise<Store> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-operator-'));
  const store = await openSqliteStore({ file: layStore(join(folder, 'causeway.db')), inThisThread: true });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return store;
};
