import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTriggers } from '../../../src/providers/sandbox/triggers.ts';

const none = {
  fails: false,
  isModerated: false,
  isRateLimited: false,
  stalls: false,
  isTruncated: false,
  delayMs: 0,
};

describe('sandbox triggers', () => {
  it.each([
    ['please [sandbox:fail] now', { fails: true }],
    ['[sandbox:moderated]', { isModerated: true }],
    ['[sandbox:rate_limit]', { isRateLimited: true }],
    ['[sandbox:stall]', { stalls: true }],
    ['[sandbox:truncate]', { isTruncated: true }],
    ['[sandbox:slow=3]', { delayMs: 3_000 }],
    ['[sandbox:slow=0.25]', { delayMs: 250 }],
    ['[sandbox:slow=99999]', { delayMs: 600_000 }],
    ['[sandbox:slow=1] and [sandbox:fail]', { delayMs: 1_000, fails: true }],
  ])('in %j are obeyed', (prompt, expected) => {
    expect(readTriggers(prompt)).toEqual({ ...none, ...expected });
  });

  it.each([
    '',
    'sandbox:fail',
    '[sandbox:failure]',
    '[sandbox: fail]',
    '[sandbox:slow=x]',
    '[sandbox:fail',
    '[sandbox:]',
  ])('are not seen in %j', (prompt) => {
    expect(readTriggers(prompt)).toEqual(none);
  });

  it('are read from any text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        expect(readTriggers(`${before} [sandbox:stall] ${after}`)).toMatchObject({ stalls: true });
      }),
    );
  });
});
