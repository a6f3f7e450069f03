import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cliArguments } from '../scripts/node-arguments.ts';
import { createLog } from '../src/kit/log.ts';
import type { Lead, LeadSource } from '../src/leads/lead-source.ts';
import { openFolderPlace } from '../src/leads/shared/folder-place.ts';
import { openSharedLeads } from '../src/leads/shared/open-shared-leads.ts';
import { writeProfiles } from './leads/files/write-profiles.ts';
import { createProfiles, firstProfiles } from './leads/generate-profiles.ts';
import { describeMachine } from './leads/measure/machine.ts';
import { table } from './leads/results/table.ts';

/*
 * Measures a fleet that shares profiles in a folder: the command imports them, a gateway joins, and then follows imports
 * of few and of all profiles. Writes bench/results/fleet.md.
 */
const { values } = parseArgs({
  options: {
    profiles: { type: 'string', default: '1000000' },
    folder: { type: 'string', default: './data/bench-fleet' },
    results: { type: 'string', default: './bench/results' },
    /** A remark for the results, such as how busy the machine was. */
    note: { type: 'string', default: '' },
  },
});
const profileCount = Number(values.profiles);
const few = 1_000;
const folder = resolve(values.folder);
const place = join(folder, 'place');
const { signal } = new AbortController();

const writeInput = async (name: string, leads: Iterable<Lead>): Promise<string> => {
  const file = join(folder, name);
  await writeProfiles(leads, { file, format: 'csv' });
  return file;
};

/** Runs `leads import` in a process of its own, as an operator does. Returns its seconds. */
const importFile = async (file: string, ...options: string[]): Promise<number> => {
  const startedMs = performance.now();
  const args = [...cliArguments, 'leads', 'import', file, ...options, '--json'];
  const env = { DATA_DIR: join(folder, 'keeper'), LEADS_URL: place };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`leads import ended with ${String(code)}`);
  return (performance.now() - startedMs) / 1_000;
};

/** Returns the seconds until the source finds `username`. */
const untilFound = async (source: LeadSource, username: string): Promise<string> => {
  const startedMs = performance.now();
  for (;;) {
    const found = await source.search({ query: username, limit: 1 }, { signal }).catch(() => []);
    if (found[0]?.username === username) return ((performance.now() - startedMs) / 1_000).toFixed(1);
    await delay(20);
  }
};

const marked = (username: string): Lead => ({
  username,
  full_name: 'Of the benchmark',
  followers: 999_999_999,
  following: 1,
  is_verified: false,
  is_business: false,
});

const main = async (): Promise<void> => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(place, { recursive: true });
  const profiles = createProfiles(1);
  const inputOf = function* (mark: string, count: number): Generator<Lead> {
    yield marked(mark);
    yield* firstProfiles(profiles, count - 1);
  };
  const whole = await writeInput('whole.csv', inputOf('markwhole', profileCount));
  const part = await writeInput('few.csv', inputOf('markfew', few));
  const again = await writeInput('again.csv', inputOf('markagain', profileCount));
  const machine = describeMachine();

  const imported = await importFile(whole);
  const source = await openSharedLeads(openFolderPlace(place), {
    folder: join(folder, 'gateway'),
    syntheticProfiles: 0,
    log: createLog('error'),
  });
  const joined = await untilFound(source, 'markwhole');
  const importedFew = await importFile(part);
  const followedFew = await untilFound(source, 'markfew');
  const importedAgain = await importFile(again, '--replace');
  const followedAgain = await untilFound(source, 'markagain');
  await source.close();

  const shown = profileCount.toLocaleString('en-US');
  const text = [
    '# A fleet: measured',
    'Written by `npm run bench:fleet`. The place is a folder on the disk of the gateway, so a network comes on top.',
    `${shown} profiles; ${machine.model}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ${machine.system}; ` +
      `Node ${machine.node}; load before ${machine.loadAverage}; ${new Date().toISOString()}. ${values.note}`.trim(),
    table(
      ['', 'seconds'],
      [
        [`import of ${shown} profiles into an empty place, published`, imported.toFixed(1)],
        ['a new gateway joins: until its first search finds a profile', joined],
        [`import of ${few} more, published`, importedFew.toFixed(1)],
        ['from the end of that command until a gateway finds them', followedFew],
        [`import that replaces all ${shown}, published`, importedAgain.toFixed(1)],
        ['from the end of that command until a gateway finds them', followedAgain],
      ],
    ),
    '',
  ].join('\n\n');
  await writeFile(join(values.results, 'fleet.md'), text);
  process.stdout.write(text);
  await rm(folder, { recursive: true, force: true });
};

await main();
