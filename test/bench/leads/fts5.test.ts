import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCheck } from '../../../bench/leads/steps/run-check.ts';
import { queryClasses } from '../../../bench/leads/queries/query-classes.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bench-fts5-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('the FTS5 index that is compared with', () => {
  it('answers queries of every class as the reference does, and leaves no file behind', async () => {
    const place = { folder, csvFile: '', serverUrl: '', profileCount: 600, seed: 1 };
    const { compared, different } = await runCheck({
      kind: 'check',
      engine: 'fts5',
      place,
      queriesPerClass: 3,
    });
    expect(different).toEqual([]);
    expect(compared).toBe(queryClasses.length * 3);
    expect(await readdir(folder)).toEqual([]);
  });
});
