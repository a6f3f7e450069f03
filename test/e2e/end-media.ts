import { DatabaseSync } from 'node:sqlite';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import type { TestGateway } from './start-test-gateway.ts';

/** Lets the time of media be over now, as if their days had passed. */
export const endMedia = ({ services }: TestGateway, ids: readonly string[]): void => {
  const database = new DatabaseSync(embeddedStoreFile(services.config.dataDir), { timeout: 60_000 });
  try {
    const end = database.prepare('update media set expires_at = ? where id = ?');
    for (const id of ids)
      if (end.run(Date.now(), id).changes !== 1) throw new Error(`there is no medium ${id}`);
  } finally {
    database.close();
  }
};
