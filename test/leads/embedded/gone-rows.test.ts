import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readGoneRows, writeGoneRows } from '../../../src/leads/embedded/gone-rows.ts';
import { createRowSet, rowsOf } from '../../../src/leads/embedded/segment/row-set.ts';
import { SegmentDamagedError } from '../../../src/leads/embedded/segment/segment-format.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leads-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const capacity = { base: 100, delta: 40 };

describe('the list of rows that are gone', () => {
  it('is read as it was written', () => {
    const rows = (below: number) => fc.uniqueArray(fc.nat(below - 1), { maxLength: 30 });
    let files = 0;
    fc.assert(
      fc.property(rows(capacity.base), rows(capacity.delta), (base, delta) => {
        const file = join(folder, String((files += 1)));
        writeGoneRows(file, {
          base: createRowSet(base, capacity.base),
          delta: createRowSet(delta, capacity.delta),
        });
        const read = readGoneRows(file, capacity);
        const ascending = (list: number[]): number[] => list.toSorted((a, b) => a - b);
        expect([...rowsOf(read.base)]).toEqual(ascending(base));
        expect([...rowsOf(read.delta)]).toEqual(ascending(delta));
      }),
      { numRuns: 50 },
    );
  });

  it('is refused if any byte is changed or its end is missing', () => {
    const file = join(folder, 'gone');
    writeGoneRows(file, { base: createRowSet([3, 70], 100), delta: createRowSet([7], 40) });
    const whole = readFileSync(file);
    for (let index = 0; index < whole.length; index += 1) {
      const harmed = Buffer.from(whole);
      harmed[index]! ^= 0x20;
      writeFileSync(file, harmed);
      expect(() => readGoneRows(file, capacity)).toThrow(SegmentDamagedError);
      writeFileSync(file, whole.subarray(0, index));
      expect(() => readGoneRows(file, capacity)).toThrow(SegmentDamagedError);
    }
  });
});
