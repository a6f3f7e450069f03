import { expect, test } from 'vitest';
import { createShares } from '../../src/webhooks/shares.ts';

const from = (accountId: string, host: string) => ({ accountId, host });

test('no host and no account gets more than its share, and all together no more than there is', () => {
  const shares = createShares({ total: 5, perHost: 2, perAccount: 3, perReceiver: 2 });
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

test('no account gets so much of a host that nothing is left to the others there', () => {
  const shares = createShares({ total: 9, perHost: 4, perAccount: 9, perReceiver: 2 });
  const enters = (accountId: string, host: string) => shares.enter(from(accountId, host));
  expect([enters('a', 'relay'), enters('a', 'relay'), enters('a', 'relay')]).toEqual([true, true, false]);
  expect([enters('b', 'relay'), enters('a', 'own')]).toEqual([true, true]);
  shares.leave(from('a', 'relay'));
  expect([enters('a', 'relay'), enters('a', 'relay')]).toEqual([true, false]);
});
