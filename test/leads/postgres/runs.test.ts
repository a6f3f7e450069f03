import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Part } from '../../../src/leads/postgres/part/part.ts';
import { runsOf, runsToRewrite, type Run } from '../../../src/leads/postgres/runs.ts';

const run = (profiles: number, gone = 0): Run => ({ parts: [], profiles, gone, hasErased: false });
const part = (id: number, fields: Partial<Part> = {}): Part => ({
  id,
  run: 'first',
  profiles: 10,
  fences: new Float64Array(),
  mostFollowers: 0,
  leastFollowers: 0,
  gone: null,
  hasErased: false,
  ...fields,
});

describe('the runs to be made anew', () => {
  it('are those that are not much larger than what comes in, and with these grown the next ones', () => {
    const [small, middle, large] = [run(100), run(2_000), run(5_000_000)];
    expect(runsToRewrite([large, middle, small], 10)).toEqual([]);
    expect(runsToRewrite([large, middle, small], 30)).toEqual([small]);
    expect(runsToRewrite([large, middle, small], 400)).toEqual([small, middle]);
    expect(runsToRewrite([large, middle, small], 1_300_000)).toEqual([small, middle, large]);
  });

  it('are also those of which a quarter is gone', () => {
    const [worn, sound] = [run(2_900, 1_000), run(3_100, 1_000)];
    expect(runsToRewrite([worn, sound], 1)).toEqual([worn, sound]);
    expect(runsToRewrite([sound], 1)).toEqual([]);
  });

  it('are also those with words of forgotten people, and with these grown the next ones', () => {
    const [small, erased, large] = [run(100), { ...run(5_000), hasErased: true }, run(50_000)];
    expect(runsToRewrite([large, erased, small], 1)).toEqual([small, erased]);
  });

  it('keep the runs few, whatever comes in', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 100_000 }), { maxLength: 60 }), (imports) => {
        let runs = [run(1_000_000)];
        for (const added of imports) {
          const rewritten = runsToRewrite(runs, added);
          const merged = rewritten.reduce((sum, { profiles }) => sum + profiles, added);
          runs = [...runs.filter((one) => !rewritten.includes(one)), run(merged)];
          expect(runs.length).toBeLessThanOrEqual(1 + Math.ceil(Math.log(7_000_000) / Math.log(4)));
        }
      }),
    );
  });

  it('are told by their parts, in the order in which these were made', () => {
    const parts = [
      part(7, { run: 'second', hasErased: true }),
      part(4, { gone: Uint8Array.of(0b101) }),
      part(3),
    ];
    expect(runsOf(parts, new Map([[3, Uint8Array.of(0b1)]]))).toEqual([
      { parts: [parts[2], parts[1]], profiles: 17, gone: 3, hasErased: false },
      { parts: [parts[0]], profiles: 10, gone: 0, hasErased: true },
    ]);
  });
});
