import { describe, expect, it } from 'vitest';
import { createProgressLine } from '../../../src/cli/leads/progress.ts';
import type { InputProgress } from '../../../src/leads/import/input-options.ts';
import type { ImportProgress } from '../../../src/leads/lead-index.ts';

/** An import at a time that the test moves; `written` is what stood on stderr so far. */
const createWatching = ({ isTerminal }: { isTerminal: boolean }) => {
  let now = 1_000_000;
  let input: InputProgress = {
    bytes: 0,
    totalBytes: 1_000,
    rows: 0,
    rejected: 0,
    unknownCountries: { rows: 0, first: [] },
  };
  const watching = { written: '' };
  const line = createProgressLine({
    output: { isTerminal, write: (text) => (watching.written += text) },
    clock: { now: () => now },
    inputProgress: () => input,
  });
  return {
    watching,
    line,
    /** After so many milliseconds more, so far. */
    at: (ms: number, progress: Partial<ImportProgress>, read: Partial<InputProgress> = {}) => {
      now += ms;
      input = { ...input, ...read };
      watching.written = '';
      line.show({ phase: 'reading', done: 0, total: null, ...progress });
      return watching.written;
    },
  };
};

const overwriting = (line: string): string => `\r${line}\u001b[K`;

describe('the progress of an import', () => {
  it('is one line on a terminal, with rate, share and the time that is left', () => {
    const { at } = createWatching({ isTerminal: true });
    expect(at(0, { done: 0 })).toBe('');
    expect(at(250, { done: 5_000 }, { bytes: 10 })).toBe(overwriting('Reading: 5,000 rows, 1 %'));
    expect(at(100, { done: 7_000 })).toBe('');
    expect(at(3_650, { done: 80_000 }, { bytes: 100 })).toBe(
      overwriting('Reading: 80,000 rows, 20,000/s, 10 %, 36 s left'),
    );
  });

  it('tells of the indexing with a speed of its own', () => {
    const { at } = createWatching({ isTerminal: true });
    at(0, { done: 0 });
    at(10_000, { done: 100_000 });
    expect(at(250, { phase: 'indexing', done: 0, total: 90_000 })).toBe(
      overwriting('Indexing: 0 profiles, 0 %'),
    );
    expect(at(3_000, { phase: 'indexing', done: 60_000, total: 90_000 })).toBe(
      overwriting('Indexing: 60,000 profiles, 20,000/s, 66 %, 1.5 s left'),
    );
  });

  it('is a line every ten seconds elsewhere', () => {
    const { at } = createWatching({ isTerminal: false });
    expect(at(0, { done: 0 })).toBe('');
    expect(at(9_900, { done: 99_000 })).toBe('');
    expect(at(100, { done: 100_000 }, { bytes: 990 })).toMatch(/^Reading: 100,000 rows, .*\n$/);
    expect(at(5_000, { done: 150_000 })).toBe('');
  });

  it('promises no end of standard input, and never 100 % before the end', () => {
    const { at } = createWatching({ isTerminal: false });
    at(0, {});
    expect(at(10_000, { done: 50_000 }, { bytes: 1_000 })).toContain(', 99 %');
    expect(at(10_000, { done: 100_000 }, { totalBytes: null })).toBe('Reading: 100,000 rows, 5,000/s\n');
  });

  it('takes its line away before something else is written, and only then', () => {
    const { at, line, watching } = createWatching({ isTerminal: true });
    line.clear();
    expect(watching.written).toBe('');
    at(0, {});
    at(500, { done: 1 });
    watching.written = '';
    line.clear();
    line.clear();
    expect(watching.written).toBe('\r\u001b[K');
  });
});
