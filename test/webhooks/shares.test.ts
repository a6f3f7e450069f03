import { expect, test } from 'vitest';
import { createShares } from '../../src/webhooks/shares.ts';

const from = (accountId: string, host: string) => ({ accountId, host });

test('no host and no account gets more than its share, and all together no more than there is', () => {
  const shares = createShares({ total: 5, perHost: 2, perAccount: 3 });
  expect(shares.enter(from('a', 'slow'))).toBe(true);
  expect(shares.enter(from('b', 'slow'))).toBe(true);
  expect(shares.enter(from('c', 'slow'))).toBe(false);
  expect(shares.enter(from('a', 'x'))).toBe(true);
  expect(shares.enter(from('a', 'y'))).toBe(true);
  expect(shares.enter(from('a', 'z'))).toBe(false);
  expect(shares.enter(from('d', 'w'))).toBe(true);
  expect([shares.free, shares.enter(from('e', 'v'))]).toEqual([0, false]);
  shares.leave(from('a', 'slow'));
  expect(shares.enter(from('c', 'slow'))).toBe(true);
});
