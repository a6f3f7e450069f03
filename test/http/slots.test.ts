import { expect, test } from 'vitest';
import { createSlots } from '../../src/http/slots.ts';

const { signal } = new AbortController();

test('the line before the slots is served in order and has a length', async () => {
  const slots = createSlots({ atOnce: 1, waiting: 2 });
  const entered: string[] = [];
  const enter = async (name: string): Promise<() => void> => {
    const release = await slots.take({ signal });
    entered.push(name);
    return release;
  };
  const release = await enter('first');
  const second = enter('second');
  const third = enter('third');
  await expect(enter('fourth')).rejects.toMatchObject({ failure: 'busy' });
  release();
  (await second)();
  (await third)();
  expect(entered).toEqual(['first', 'second', 'third']);
});

test('a place that is given back twice is given back once', async () => {
  const slots = createSlots({ atOnce: 1, waiting: 0 });
  const release = await slots.take({ signal });
  release();
  release();
  await slots.take({ signal });
  await expect(slots.take({ signal })).rejects.toMatchObject({ failure: 'busy' });
});

test('who gives up waiting leaves the line', async () => {
  const slots = createSlots({ atOnce: 1, waiting: 1 });
  const release = await slots.take({ signal });
  const impatient = new AbortController();
  const waiting = slots.take({ signal: impatient.signal });
  const reason = new Error('no longer wanted');
  impatient.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  const next = slots.take({ signal });
  release();
  await next;
  await expect(slots.take({ signal: impatient.signal })).rejects.toBe(reason);
});

test('the line moves past those who wait for their own share, in order', async () => {
  const slots = createSlots({ atOnce: 4, waiting: 8 });
  const entered: string[] = [];
  const enter = async (accountId: string): Promise<() => void> => {
    const release = await slots.take({ signal, accountId });
    entered.push(accountId);
    return release;
  };
  const held = await Promise.all(['a', 'b', 'c', 'd'].map(enter));
  const again = enter('a');
  const others = [enter('e'), enter('f')];
  held[1]?.();
  (await others[0])?.();
  held[0]?.();
  await Promise.all([again, others[1]]);
  expect(entered).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'a']);
});

test('one account gets a quarter of the places and of the line', async () => {
  const slots = createSlots({ atOnce: 8, waiting: 4 });
  const take = (accountId: string): Promise<unknown> => slots.take({ signal, accountId });
  await Promise.all([take('a'), take('a')]);
  void take('a');
  await expect(take('a')).rejects.toMatchObject({ failure: 'busy' });
  await Promise.all([take('b'), take('b'), take('c')]);
});
