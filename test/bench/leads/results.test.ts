import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Spread } from '../../../bench/leads/measure/statistics.ts';
import { missesOf } from '../../../bench/leads/results/goals.ts';
import {
  mergeResults,
  readAllResults,
  readResults,
  writeResults,
  type EngineResults,
  type Results,
} from '../../../bench/leads/results/results-file.ts';

const machine = { cores: 2, model: '', memoryGiB: 1, system: '', node: '', loadAverage: 0 };
const load: EngineResults['load'] = {
  profiles: 1,
  bytes: 1,
  input: 'CSV file, checked',
  seconds: 1,
  cpuSeconds: 1,
  peakMiB: 1,
  rowsPerSecond: 1,
  machine,
};
const engine = (measuredAt: string, hasLoad = true): EngineResults => ({
  measuredAt,
  load: hasLoad ? load : null,
  searches: [],
  chats: null,
});
const results = (engines: Results['engines'], seed = 1): Results => ({
  format: 2,
  profiles: 1,
  seed,
  generatorVersion: 1,
  engines,
});

describe('results of several runs', () => {
  it('keep what a run did not measure', () => {
    const merged = mergeResults(results({ embedded: engine('old') }), results({}));
    expect(merged.engines.embedded?.measuredAt).toBe('old');
  });

  it('keep the figures of loading where a run searched what an earlier one had loaded', () => {
    const merged = mergeResults(
      results({ embedded: engine('old') }),
      results({ embedded: engine('new', false) }),
    );
    expect(merged.engines.embedded?.load).toEqual(load);
  });

  it('drop figures of other profiles', () => {
    const merged = mergeResults(results({ embedded: engine('old') }, 2), results({}));
    expect(merged.engines).toEqual({});
  });
});

describe('the file of results', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bench-results-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is read back by its number of profiles, the smallest first', async () => {
    const small = results({ embedded: engine('now') });
    const large = { ...small, profiles: 20 };
    for (const each of [large, small]) await writeResults(folder, each);
    expect(await readAllResults(folder)).toEqual([small, large]);
  });

  it('counts as none when another version wrote it, or nobody did', async () => {
    await writeFile(join(folder, 'leads-5.json'), '{"profiles":5}');
    expect(await readResults(folder, 5)).toBeNull();
    expect(await readResults(folder, 6)).toBeNull();
    expect(await readAllResults(folder)).toEqual([]);
  });
});

describe('the goals', () => {
  const spread = (p50: number, p99: number) => ({ count: 1, p50, p99, max: p99, mean: p50 });
  const classOf = (name: string, warm: Spread) => ({
    name,
    cold: spread(500, 500),
    warm,
    cpu: spread(1, 20),
    results: 0,
  });
  const delay = (max: number) => ({ p99: 0, max, longestWork: 4 });
  const goals = { p50Ms: 2, p99Ms: 20, medianMs: 5, freeShare: 0.08, loopMs: 10 };
  const figures = {
    classes: [classOf('good', spread(1.9, 19)), classOf('slow', spread(2, 20))],
    loop: { idle: delay(50), oneCaller: delay(3), manyCallers: delay(11) },
    counts: [],
  };

  it('are missed by the clock by each class that is not below them, and by a main thread that is held', () => {
    expect(missesOf(figures, { goals, by: 'clock' })).toEqual([
      'p50 of "slow" 2',
      'p99 of "slow" 20',
      'the main thread held for 11',
    ]);
  });

  it('are missed by processor time where the work itself takes too long', () => {
    expect(missesOf(figures, { goals, by: 'processor' })).toEqual(['p99 of "good" 20', 'p99 of "slow" 20']);
    expect(missesOf({ ...figures, loop: null }, { goals: { ...goals, p99Ms: 21 }, by: 'processor' })).toEqual(
      [],
    );
  });

  it('are missed by the class in the middle, and by free searches that take much of a core', () => {
    const slow = { ...classOf('slow', spread(1, 1)), cpu: spread(90, 90) };
    const others = { goals: { ...goals, p50Ms: 100, p99Ms: 100 }, by: 'processor' } as const;
    const found = { ...figures, classes: [...figures.classes, slow, slow, slow], loop: null, counts: [slow] };
    expect(missesOf(found, others)).toEqual(['the median class 90', 'free searches take 9.0 % of a core']);
  });
});
