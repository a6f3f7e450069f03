import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { createHistoryCursors } from '../../../src/operations/account/history-cursor.ts';
import type { HistoryPosition } from '../../../src/store/store.ts';

const cursors = createHistoryCursors('secret');
const scope = { accountId: 'acme', list: 'list_jobs' };

const position: fc.Arbitrary<HistoryPosition> = fc.record({
  createdAt: fc.nat({ max: 8_640_000_000_000_000 }),
  id: fc.uuid(),
});

const outcomeOf = (reading: () => HistoryPosition): unknown => {
  try {
    return reading();
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, status: error.status, param: error.param };
    throw error;
  }
};
const invalid = { code: 'invalid_cursor', status: 400, param: 'cursor' };

describe('a history cursor', () => {
  it('comes back as the position it was made of, also in another process with the same secret', () => {
    const elsewhere = createHistoryCursors('secret');
    fc.assert(
      fc.property(position, (end) => {
        const cursor = cursors.write(end, scope);
        expect(cursor.length).toBeLessThanOrEqual(512);
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(elsewhere.read(cursor, scope)).toEqual(end);
      }),
    );
  });

  it('is refused with any character changed, left out or added', () => {
    const cursor = cursors.write(
      { createdAt: 1_800_000_000_000, id: '00000000-0000-4000-8000-000000000000' },
      scope,
    );
    for (let index = 0; index <= cursor.length; index += 1) {
      const [before, at, after] = [cursor.slice(0, index), cursor.charAt(index), cursor.slice(index + 1)];
      const other = at === 'A' ? 'B' : 'A';
      const wrong = at === '' ? [`${cursor}A`, `${cursor}=`] : [before + other + after, before + after];
      for (const text of wrong) expect(outcomeOf(() => cursors.read(text, scope))).toEqual(invalid);
    }
  });

  it('is refused as any text that nobody made', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ maxLength: 512 }), fc.base64String({ maxLength: 512 })), (text) => {
        expect(outcomeOf(() => cursors.read(text, scope))).toEqual(invalid);
      }),
    );
  });

  it.each([
    ['account', { ...scope, accountId: 'other' }],
    ['list', { ...scope, list: 'list_transactions' }],
  ])('of another %s is refused', (_name, other) => {
    const cursor = cursors.write({ createdAt: 1, id: 'x' }, other);
    expect(outcomeOf(() => cursors.read(cursor, scope))).toEqual(invalid);
  });

  it('of another deployment is refused', () => {
    const foreign = createHistoryCursors('other secret');
    const cursor = foreign.write({ createdAt: 1, id: 'x' }, scope);
    expect(outcomeOf(() => cursors.read(cursor, scope))).toEqual(invalid);
  });
});
