import { openForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import { openSqliteIndex } from '../../../src/leads/sqlite/open-sqlite-index.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite-store.ts';
import { leadInputOf } from '../lead-input-of.ts';

/*
 * A process that changes profiles, for a test to kill: `node killed-change.ts FOLDER STORE_FILE CHANGE`. CHANGE is the
 * number of profiles to import, or somebody to forget. Writes a line of JSON for each thing that happens. A deletion kills
 * its process when the list has the person.
 */
const [folder = '', storeFile = '', change = ''] = process.argv.slice(2);

const tell = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

const { signal } = new AbortController();
const store = await openSqliteStore({ file: storeFile, inThisThread: true });
const people = await openForgottenPeople(store);
if (/^\d+$/.test(change)) {
  const keeper = await openSqliteIndex({ folder, people });
  const input = leadInputOf([...generateLeads({ seed: 2, profiles: Number(change) })], {
    batchRows: 2_000,
    // A turn of the event loop, and time to be killed in.
    beforeBatch: async (row) => {
      tell({ row });
      await new Promise((resolve) => setTimeout(resolve, 2));
    },
  });
  const outcome = await keeper.importLeads({
    input,
    mode: 'upsert',
    signal,
    onProgress: ({ phase }) => tell({ phase }),
  });
  tell({ outcome });
} else {
  const keeper = await openSqliteIndex({
    folder,
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
