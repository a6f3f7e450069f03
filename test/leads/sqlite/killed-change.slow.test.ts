import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbeddedKeeper } from '../../../src/leads/embedded/open-embedded-keeper.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { leadInputOf } from './lead-input-of.ts';

const signal = new AbortController().signal;
const profiles = 3_000;
const script = new URL('./killed-import.ts', import.meta.url).pathname;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leads-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Line {
  isReading?: true;
  phase?: string;
  outcome?: object;
}

/** Runs the import in another process, and kills it `afterMs` after the moment `isMoment` tells, if it comes. */
const runImport = async (
  at: string,
  { deltaProfiles, isMoment, afterMs = 0 }: Moment & { deltaProfiles: number },
): Promise<Line[]> => {
  const child = spawn(process.execPath, [script, at, String(profiles), String(deltaProfiles)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  while (!isOver() && isMoment?.(at, lines) !== true) await delay(1);
  if (isMoment !== undefined) {
    await delay(afterMs);
    child.kill('SIGKILL');
  }
  await exited;
  return lines;
};

/** Repeats it with the same folder when the import was over before it could be killed. */
const killImport: typeof runImport = async (at, moment) => {
  const attempt = join(folder, 'attempt');
  let lines: Line[];
  do {
    await rm(attempt, { recursive: true, force: true });
    await cp(at, attempt, { recursive: true });
    lines = await runImport(attempt, moment);
  } while (lines.some(({ outcome }) => outcome !== undefined));
  await rm(at, { recursive: true });
  await rename(attempt, at);
  return lines;
};

interface Moment {
  isMoment?: (at: string, lines: readonly Line[]) => boolean;
  afterMs?: number;
}

const hasRead = (_: string, lines: readonly Line[]): boolean => lines.some(({ isReading }) => isReading);
const isIndexing = (_: string, lines: readonly Line[]): boolean =>
  lines.some(({ phase }) => phase === 'indexing');
const hasNewSegment = (at: string): boolean =>
  readdirSync(at).filter((name) => /^(?:base|delta)-.*\.db$/.test(name)).length > 1;

const moments: Moment[] = [
  { isMoment: hasRead, afterMs: Math.random() * 40 },
  { isMoment: hasRead, afterMs: 30 + Math.random() * 80 },
  { isMoment: isIndexing, afterMs: Math.random() * 20 },
  { isMoment: (at, lines) => isIndexing(at, lines) && hasNewSegment(at), afterMs: Math.random() * 10 },
];

const exportFrom = async (at: string): Promise<Lead[]> => {
  const keeper = await openEmbeddedKeeper({ folder: at });
  return Array.fromAsync(keeper.exportLeads({ signal }));
};

const seed = async (at: string): Promise<void> => {
  const keeper = await openEmbeddedKeeper({ folder: at });
  const leads = [...generateLeads({ seed: 1, profiles: 1_000 })];
  await keeper.importLeads({ input: leadInputOf(leads, { batchRows: 1_000 }), mode: 'upsert', signal });
};

/** Many processes, one after the other, on a machine that may be busy. */
const timeout = 120_000;

describe('an import that is killed', () => {
  it.each([
    { what: 'a new base', deltaProfiles: 0, moments },
    { what: 'a delta', deltaProfiles: 100_000, moments: [moments[0]!, moments[3]!] },
  ])(
    'leaves what was searched, and ends as if nothing had been when it is repeated ($what)',
    async ({ deltaProfiles, moments }) => {
      const at = join(folder, 'killed');
      const untouched = join(folder, 'untouched');
      await seed(at);
      await seed(untouched);
      const before = await exportFrom(at);

      for (const moment of moments) {
        await killImport(at, { ...moment, deltaProfiles });
        expect(await exportFrom(at)).toEqual(before);
      }

      const [last, uninterrupted] = [
        await runImport(at, { deltaProfiles }),
        await runImport(untouched, { deltaProfiles }),
      ];
      expect(last.at(-1)).toEqual(uninterrupted.at(-1));
      expect(last.at(-1)).toMatchObject({ outcome: { rows: profiles } });
      expect(await exportFrom(at)).toEqual(await exportFrom(untouched));
      expect(readdirSync(at).length).toBe(readdirSync(untouched).length);
    },
    timeout,
  );
});
