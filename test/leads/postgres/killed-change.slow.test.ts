import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LeadIndex } from '../../../src/leads/lead-index.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { hasService } from '../../outside-services.ts';
import { leadInputOf } from '../lead-input-of.ts';
import { createPostgresProfiles, type PostgresProfiles } from './create-postgres-profiles.ts';

const { signal } = new AbortController();
const script = fileURLToPath(new URL('./killed-change.ts', import.meta.url));
const imported = 40_000;
const leads = [...generateLeads({ seed: 1, profiles: 1_000 })];

let made: PostgresProfiles;
let keeper: LeadIndex;

interface Line {
  row?: number;
  phase?: string;
  outcome?: object;
}

interface Moment {
  what: string;
  isThere: (lines: readonly Line[]) => boolean;
}

/** Makes the change in another process. Kills it soon after `moment`, if there is one. */
const runChange = async (change: string | number, moment: Moment | null = null): Promise<Line[]> => {
  const { url, schema } = made.place;
  const child = spawn(process.execPath, [script, url, schema, String(change)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  while (!isOver() && moment?.isThere(lines) !== true) await delay(1);
  if (moment !== null) {
    await delay(Math.random() * 50);
    child.kill('SIGKILL');
  }
  await exited;
  return lines;
};

const exported = (): Promise<Lead[]> => Array.fromAsync(keeper.exportLeads({ signal }));
const tables = (): Promise<unknown[]> =>
  made.sql(
    `select relname from pg_class where relnamespace = current_schema()::text::regnamespace
      and relname like 'leads\\_%' and relkind in ('r', 'p') and not relispartition`,
  );

const moments: Moment[] = [
  { what: 'while it reads', isThere: (lines) => lines.some(({ row = 0 }) => row > 20_000) },
  { what: 'while it sorts', isThere: (lines) => lines.some(({ phase }) => phase === 'indexing') },
  { what: 'while it indexes', isThere: (lines) => lines.some(({ phase }) => phase === 'indexing parts') },
];

describe.runIf(hasService('PostgreSQL'))('profiles in PostgreSQL', () => {
  beforeEach(async () => {
    made = await createPostgresProfiles();
    keeper = await made.openKeeper();
    await keeper.importLeads({ input: leadInputOf(leads, { batchRows: 1_000 }), mode: 'upsert', signal });
  });
  afterEach(async () => {
    await keeper.close();
    await made.remove();
  });

  it.each(moments)(
    'are the former ones after an import that was killed $what, which can be repeated',
    async (moment) => {
      const before = await exported();
      const lines = await runChange(imported, moment);
      expect(lines.some(({ outcome }) => outcome !== undefined)).toBe(false);
      expect(await exported()).toEqual(before);
      expect((await made.search([{ limit: 3 }]))[0]).toEqual(before.slice(0, 3));

      // The lock ends when the server has noticed that the process is gone.
      const repeated = await vi.waitFor(
        () => keeper.importLeads({ input: leadInputOf(leads.slice(0, 10)), mode: 'upsert', signal }),
        60_000,
      );
      expect(repeated).toMatchObject({ updated: 10, profiles: 1_000 });
      expect(await tables()).toHaveLength(1);
      expect((await runChange(imported)).at(-1)).toMatchObject({ outcome: { rows: imported } });
      expect(await keeper.stats()).toMatchObject({ profiles: (await exported()).length });
      expect(await tables()).toHaveLength(1);
    },
  );

  it('lose somebody whose deletion was killed with a sweep, and no export has them before', async () => {
    const username = String(leads[0]?.username);
    await runChange(username);
    expect(await made.people.find([username], { signal })).toEqual(new Set([username]));
    const [{ name } = {}] = await made.sql('select name from lead_set');
    const find = (): Promise<unknown[]> =>
      made.sql(`select 1 from ${String(name)} where username = '${username}'`);
    expect(await find()).toHaveLength(1);
    expect((await exported()).some((lead) => lead.username === username)).toBe(false);
    await keeper.sweep();
    expect(await find()).toEqual([]);
    expect(await keeper.stats()).toMatchObject({ profiles: 999, forgotten: 1 });
  });
});
