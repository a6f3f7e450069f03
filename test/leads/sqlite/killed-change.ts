import { openEmbeddedKeeper } from '../../../src/leads/embedded/open-embedded-keeper.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { leadInputOf } from './lead-input-of.ts';

/*
 * A process that imports, for a test to kill: `node killed-import.ts FOLDER PROFILES DELTA_PROFILES`. Writes a line of
 * JSON for each thing that happens.
 */
const [folder = '', profiles = '', deltaProfiles = ''] = process.argv.slice(2);

const tell = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

const keeper = await openEmbeddedKeeper({
  folder,
  limits: { deltaProfiles: Number(deltaProfiles) },
});
const input = leadInputOf([...generateLeads({ seed: 2, profiles: Number(profiles) })], {
  batchRows: 100,
  onRead: () => tell({ isReading: true }),
  // A turn of the event loop, and time to be killed in.
  beforeBatch: () => new Promise((resolve) => setTimeout(resolve, 2)),
});
const outcome = await keeper.importLeads({
  input,
  mode: 'upsert',
  signal: new AbortController().signal,
  onProgress: ({ phase, done }) => tell({ phase, done }),
});
tell({ outcome });
