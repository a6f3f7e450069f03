import { expect, test } from 'vitest';
import { createSlots } from '../../src/outbound/slots.ts';

const { signal } = new AbortController();

test('the line before the slots is served in order and has a length', async () => {
  const slots = createSlots({ atOnce: 1, waiting: 2 });
  const entered: string[] = [];
  const enter = async (name: string): Promise<() => void> => {
    const release = await slots.take(signal);
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
  const release = await slots.take(signal);
  release();
  release();
  await slots.take(signal);
  await expect(slots.take(signal)).rejects.toMatchObject({ failure: 'busy' });
});

test('who gives up waiting leaves the line', async () => {
  const slots = createSlots({ atOnce: 1, waiting: 1 });
  const release = await slots.take(signal);
  const impatient = new AbortController();
  const waiting = slots.take(impatient.signal);
  const reason = new Error('no longer wanted');
  impatient.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  const next = slots.take(signal);
  release();
  await next;
  await expect(slots.take(impatient.signal)).rejects.toBe(reason);
});
