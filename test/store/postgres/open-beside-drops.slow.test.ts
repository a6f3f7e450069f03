import { expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/open-postgres-store.ts';
import { hasService } from '../../outside-services.ts';
import { addAccount } from '../builders.ts';
import { schemaAddress } from '../open-store-at.ts';
import { dropSchema, nameSchema, onPostgres } from '../open-test-store.ts';

it.runIf(hasService('PostgreSQL'))(
  'the PostgreSQL store opens while other tables in the database are dropped',
  async () => {
    const schema = await nameSchema();
    const columns = Array.from({ length: 200 }, (_, index) => `column${index} serial`).join();
    const elsewhere = await Promise.all(Array.from({ length: 3 }, nameSchema));
    let isOver = false;
    const comings = elsewhere.map((name) =>
      onPostgres(async (client) => {
        while (!isOver) {
          await client.query(`create schema ${name} create table gone (${columns})`);
          await client.query(`drop schema ${name} cascade`);
        }
      }),
    );
    try {
      for (let count = 0; count < 8; count += 1) {
        const store = await openPostgresStore({ ...schemaAddress(schema), schema, poolSize: 3 });
        expect((await addAccount(store)).accountId).toBeDefined();
        await store.close();
        await onPostgres((client) => client.query(`drop schema ${schema} cascade`));
      }
    } finally {
      isOver = true;
      await Promise.all(comings);
      await dropSchema(schema);
    }
  },
);
