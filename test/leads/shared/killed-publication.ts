import { openFolderPlace } from '../../../src/leads/shared/folder-place.ts';
import { openSharedKeeper } from '../../../src/leads/shared/open-shared-keeper.ts';
import { leadInputOf } from '../embedded/lead-input-of.ts';
import { buildLead } from '../build-lead.ts';

/*
 * A process that changes the profiles of a fleet and dies on the way:
 * `node killed-publication.ts PLACE FOLDER CHANGE STEP`. CHANGE is `import` or `forget`. It kills itself before the
 * call of the place that STEP names, such as `put 2`, and prints `done` if it comes to its end.
 */
const [place = '', folder = '', change = '', step = ''] = process.argv.slice(2);

const counts = new Map<string, number>();
const dieAt = (call: string): void => {
  const count = (counts.get(call) ?? 0) + 1;
  counts.set(call, count);
  if (`${call} ${count}` === step) process.kill(process.pid, 'SIGKILL');
};
const real = openFolderPlace(place);
const keeper = await openSharedKeeper(
  {
    ...real,
    put: async (...put) => {
      dieAt('put');
      return real.put(...put);
    },
    replaceManifest: async (...replace) => {
      dieAt('replace');
      return real.replaceManifest(...replace);
    },
    remove: async (...remove) => {
      dieAt('remove');
      return real.remove(...remove);
    },
  },
  { folder, limits: { deltaProfiles: 0 } },
);
const { signal } = new AbortController();
if (change === 'forget') await keeper.forget(['bob'], { signal });
else
  await keeper.importLeads({
    input: leadInputOf([buildLead({ username: 'dan', followers: 1 })]),
    mode: 'upsert',
    signal,
  });
await keeper.close();
process.stdout.write('done');
