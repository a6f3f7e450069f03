import { describe, expect, it } from 'vitest';
import { report } from '../../../bench/leads/results/report.ts';
import type { Results } from '../../../bench/leads/results/results-file.ts';

const machine = {
  cores: 2,
  model: 'Some CPU',
  memoryGiB: 8,
  system: 'Linux 6',
  node: 'v24.0.0',
  loadAverage: 0.5,
};
const spread = (p50: number, p99: number) => ({ count: 100, p50, p99, max: p99 + 1, mean: p50 });
const classOf = (name: string, p99: number) => ({
  name,
  cold: spread(1, 30),
  warm: spread(0.5, p99),
  cpu: spread(0.25, 0.75),
  results: 20,
});
const memoryMiB = { before: 10, opened: 20, end: 30, peak: 40 };
const delay = { p99: 0.1, max: 2, longestWork: 1 };

const results: Results = {
  format: 2,
  profiles: 1_000_000,
  seed: 1,
  generatorVersion: 1,
  engines: {
    embedded: {
      measuredAt: '2026-11-21T00:00:00.000Z',
      load: {
        profiles: 1_000_000,
        bytes: 500_000_000,
        input: 'CSV file, checked',
        seconds: 20,
        cpuSeconds: 18,
        peakMiB: 300,
        rowsPerSecond: 50_000,
        machine,
      },
      searches: [
        {
          access: 'gateway',
          openMs: 30,
          classes: [classOf('rare word', 3), classOf('never together', 123)],
          loop: { idle: delay, oneCaller: delay, manyCallers: null },
          throughput: null,
          counts: [],
          memoryMiB,
          machine,
        },
        {
          access: 'direct',
          openMs: 2,
          classes: [classOf('rare word', 45)],
          loop: null,
          throughput: null,
          counts: [],
          memoryMiB,
          machine,
        },
      ],
      chats: null,
    },
  },
};

describe('the report', () => {
  const page = report([results]);

  it('tells each class on one line, a dash where it was not asked', () => {
    expect(page).toContain('| rare word | 20 | 0.50 / 3.00 / 4.00 | 0.50 / 45.0 / 46.0 |');
    expect(page).toContain('| never together | 20 | 0.50 / 123 / 124 | – |');
  });

  it('names the machine, the load before, and what loading cost', () => {
    expect(page).toContain('Some CPU, 2 cores, 8 GiB');
    expect(page).toContain(
      '| embedded | CSV file, checked | 50,000 | 55,556 | 20 | 18 | – | 300 | 477 | 500 |',
    );
  });

  it('names each class that misses a goal of its engine', () => {
    expect(page).toContain('By the clock: missed by 1: p99 of "never together" 123.');
    expect(page).toContain('By the processor time of the answering process: met.');
  });
});
