import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { readManifest } from '../../../src/leads/sqlite/profiles-folder.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf } from '../lead-input-of.ts';
import { createSqliteProfiles, type SqliteProfiles } from './create-sqlite-profiles.ts';

const { signal } = new AbortController();
const script = fileURLToPath(new URL('./killed-change.ts', import.meta.url));
/** More than are indexed together. */
const imported = 130_000;
const leads = [...generateLeads({ seed: 1, profiles: 1_000 })];

let made: SqliteProfiles;
beforeEach(async () => {
  made = await createSqliteProfiles();
  const keeper = await made.openKeeper();
  await keeper.importLeads({ input: leadInputOf(leads, { batchRows: 1_000 }), mode: 'upsert', signal });
});
afterEach(() => made.remove());

interface Line {
  row?: number;
  phase?: string;
  outcome?: object;
}

interface Moment {
  what: string;
  isThere: (lines: readonly Line[]) => boolean;
}

const filesLike = (pattern: RegExp): string[] =>
  readdirSync(made.folder).filter((name) => pattern.test(name));

/** Makes the change in another process. Kills it soon after `moment`, if there is one. */
const runChange = async (change: string | number, moment: Moment | null = null): Promise<Line[]> => {
  const child = spawn(process.execPath, [script, made.folder, made.storeFile, String(change)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  while (!isOver() && moment?.isThere(lines) !== true) await delay(1);
  if (moment !== null) {
    await delay(Math.random() * 20);
    child.kill('SIGKILL');
  }
  await exited;
  return lines;
};

const exported = async (): Promise<Lead[]> =>
  Array.fromAsync((await made.openKeeper()).exportLeads({ signal }));

const moments: Moment[] = [
  { what: 'while it reads', isThere: (lines) => lines.some(({ row = 0 }) => row > 20_000) },
  { what: 'when it has a file of its own', isThere: () => filesLike(/^next-/).length > 0 },
  { what: 'when a part is stored', isThere: (lines) => lines.some(({ row = 0 }) => row > 110_000) },
  { what: 'while it indexes', isThere: (lines) => lines.some(({ phase }) => phase === 'indexing') },
];

describe('an import that is killed', () => {
  it.each(moments)('$what leaves what was searched, and can be repeated', async (moment) => {
    const before = await exported();
    const lines = await runChange(imported, moment);
    expect(lines.some(({ outcome }) => outcome !== undefined)).toBe(false);
    expect(await exported()).toEqual(before);
    expect((await made.search([{ limit: 3 }]))[0]).toEqual(before.slice(0, 3));

    expect((await runChange(imported)).at(-1)).toMatchObject({
      outcome: { rows: imported, profiles: expect.any(Number) },
    });
    expect(new Set(readdirSync(made.folder))).toEqual(
      new Set(['current.json', 'keeper.lock', readManifest(made.folder)?.file]),
    );
    expect((await exported()).length).toBe(readManifest(made.folder)?.profiles);
  });
});

describe('a deletion that is killed when the list has the person', () => {
  it('is finished by a sweep, and the person is in no export before', async () => {
    const [{ username } = buildLead()] = leads;
    await runChange(username);
    expect(await made.people.find([username], { signal })).toEqual(new Set([username]));
    const holds = (): boolean =>
      filesLike(/^profiles-/).some((name) => readFileSync(join(made.folder, name)).includes(`"${username}"`));
    expect(holds()).toBe(true);
    expect((await exported()).some((lead) => lead.username === username)).toBe(false);
    const keeper = await made.openKeeper();
    await keeper.sweep();
    expect(holds()).toBe(false);
    expect(await keeper.stats()).toMatchObject({ profiles: 999, forgotten: 1 });
  });
});
