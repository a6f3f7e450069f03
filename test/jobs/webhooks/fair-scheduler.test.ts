import { expect, test } from 'vitest';
import { createFairScheduler } from '../../../src/jobs/webhooks/webhook-dispatcher.ts';

const waiting = (...names: string[]) =>
  names.map((name) => ({ accountId: name.slice(0, 1), host: name.slice(1) }));
const namesOf = (parties: { accountId: string; host: string }[]) =>
  parties.map(({ accountId, host }) => accountId + host);

test('accounts take turns, and within an account its hosts', () => {
  const turns = createFairScheduler();
  const all = waiting('a1', 'a2', 'a3', 'b1', 'c9');
  const served: string[] = [];
  for (let round = 0; round < 9; round += 1) {
    const [next] = turns.order(all);
    if (next === undefined) break;
    turns.take(next);
    served.push(...namesOf([next]));
  }
  expect(served).toEqual(['a1', 'b1', 'c9', 'a2', 'b1', 'c9', 'a3', 'b1', 'c9']);
});

test('who had no turn yet comes before all who had, and equals stay in their order', () => {
  const turns = createFairScheduler();
  for (const parties of turns.order(waiting('b1', 'a1'))) turns.take(parties);
  expect(namesOf(turns.order(waiting('a1', 'b1', 'd1', 'c1')))).toEqual(['d1', 'c1', 'b1', 'a1']);
});

test('who is not seen for a while keeps its turn', () => {
  const turns = createFairScheduler();
  for (const parties of turns.order(waiting('a1'))) turns.take(parties);
  turns.order(waiting('b1'));
  expect(namesOf(turns.order(waiting('a1', 'b1')))).toEqual(['b1', 'a1']);
});

test('turns of long ago are forgotten', () => {
  const turns = createFairScheduler(4);
  for (const parties of turns.order(waiting('a1', 'b1', 'c1'))) turns.take(parties);
  expect(namesOf(turns.order(waiting('c1', 'b1', 'a1', 'd1')))).toEqual(['a1', 'd1', 'b1', 'c1']);
});
