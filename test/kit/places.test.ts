import { expect, test } from 'vitest';
import { createPlaces } from '../../src/kit/places.ts';

test('a holder gets a quarter of the places, and at least one', () => {
  const many = createPlaces(8);
  expect(['a', 'a', 'a', 'b'].map((holder) => many.take(holder) !== null)).toEqual([true, true, false, true]);
  const few = createPlaces(2);
  expect(['a', 'a', 'b', 'c'].map((holder) => few.take(holder) !== null)).toEqual([true, false, true, false]);
});

test('who is not known may take all of them, and no more', () => {
  const places = createPlaces(2);
  expect([1, 2, 3].map(() => places.take(undefined) !== null)).toEqual([true, true, false]);
  expect(places.take('a')).toBeNull();
});

test('a place that is given back, however often, is there once', () => {
  const places = createPlaces(4);
  const release = places.take('a');
  release?.();
  release?.();
  expect(['a', 'a'].map((holder) => places.take(holder) !== null)).toEqual([true, false]);
});
