import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { readCsv } from '../../../src/leads/import/read-csv.ts';
import { readJsonl } from '../../../src/leads/import/read-jsonl.ts';
import { plainDefaults } from './read-all.ts';

setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');
/** V8 keeps the shapes of objects, with the names of their members, for two rounds. */
const collectGarbage = (): void => {
  for (let round = 0; round < 4; round += 1) gc();
};

const rows = 100;
const wide = 200_000;

async function* chunksOf(row: (index: number) => string): AsyncGenerator<Buffer> {
  for (let index = 0; index < rows; index += 1) yield Buffer.from(row(index));
}

/** Returns the bytes that are kept, with all profiles, at the last row. */
const keptBy = async (read: typeof readCsv, row: (index: number) => string): Promise<number> => {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const leads: unknown[] = [];
  let kept = 0;
  async function* chunks(): AsyncGenerator<Buffer> {
    yield* chunksOf(row);
    collectGarbage();
    kept = process.memoryUsage().heapUsed - before;
  }
  const options = { file: 'profiles', defaults: plainDefaults, onUnusedColumns: () => {} };
  for await (const batch of read(chunks(), options)) leads.push(...batch.leads);
  expect(leads).toHaveLength(rows);
  return kept;
};

describe('profiles that were read', () => {
  it('keep no other cell of their rows in memory', async () => {
    const kept = await keptBy(readCsv, (index) =>
      index === 0
        ? `username,followers,full_name,other\nuser,0,A name of many letters,\n`
        : `user${index},${index},A name of many letters,${'x'.repeat(wide)}\n`,
    );
    expect(kept).toBeLessThan((rows * wide) / 4);
  });

  it('keep no long member names of their objects in memory', async () => {
    const kept = await keptBy(readJsonl, (index) => {
      const other = `${'x'.repeat(wide)}${index}`;
      return `${JSON.stringify({ username: `user${index}`, followers: index, [other]: 1 })}\n`;
    });
    expect(kept).toBeLessThan((rows * wide) / 4);
  });
});
