import { expect, test } from 'vitest';
import { remember } from '../../src/catalog/remember.ts';

const counted = (mostKept: number) => {
  const made: string[] = [];
  const get = remember(mostKept, (key) => {
    made.push(key);
    if (key === 'bad') throw new Error('bad');
    return { key };
  });
  return { made, get };
};

test('a value is made once and then the same', () => {
  const { made, get } = counted(2);
  expect(get('a')).toBe(get('a'));
  expect(made).toEqual(['a']);
});

test('of more keys than are kept, the one not asked for longest is made again', () => {
  const { made, get } = counted(2);
  for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) get(key);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
});

test('what throws is tried again', () => {
  const { made, get } = counted(2);
  expect(() => get('bad')).toThrow('bad');
  expect(() => get('bad')).toThrow('bad');
  expect(made).toEqual(['bad', 'bad']);
});
