import { openForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import { openPostgresIndex } from '../../../src/leads/postgres/open-postgres-index.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { openStoreAt } from '../../store/open-store-at.ts';
import { leadInputOf } from '../lead-input-of.ts';

/*
 * A process that changes profiles, for a test to kill: `node killed-change.ts URL SCHEMA CHANGE`. CHANGE is the number of
 * profiles to import, or somebody to forget. Writes a line for each thing that happens. A deletion kills its process when
 * the list has the person.
 */
const [url = '', schema = '', change = ''] = process.argv.slice(2);

const tell = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

const { signal } = new AbortController();
const store = await openStoreAt('postgres', schema);
const people = await openForgottenPeople(store);
if (/^\d+$/.test(change)) {
  const keeper = openPostgresIndex({ url, schema, people, partSize: 2_000 });
  const input = leadInputOf([...generateLeads({ seed: 2, profiles: Number(change) })], {
    batchRows: 1_000,
    beforeBatch: (row) => tell({ row }),
  });
  const outcome = await keeper.importLeads({
    input,
    mode: 'upsert',
    signal,
    onProgress: ({ phase, total }) => tell({ phase: total === null ? phase : 'indexing parts' }),
  });
  tell({ outcome });
  await keeper.close();
} else {
  const keeper = openPostgresIndex({
    url,
    schema,
    people: {
      ...people,
      add: async (usernames) => {
        await people.add(usernames);
        process.kill(process.pid, 'SIGKILL');
        return new Promise<never>(() => {});
      },
    },
  });
  await keeper.forget([change], { signal });
}
await store.close();
