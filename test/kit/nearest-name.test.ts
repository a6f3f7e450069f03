import { describe, expect, it } from 'vitest';
import { nearestName } from '../../src/kit/text.ts';

const known = ['query', 'country', 'category', 'gender', 'min_followers', 'max_followers', 'limit'];

describe('the nearest of several names, at two edits or fewer', () => {
  it.each([
    ['qurey', 'query'],
    ['uqeyr', 'query'],
    ['quer', 'query'],
    ['query[]', 'query'],
    ['min_followrs', 'min_followers'],
    ['maxfollowers', 'max_followers'],
    ['mix_followers', 'min_followers'],
    ['limits', 'limit'],
    ['lim', 'limit'],
  ])('of %s is %s', (name, meant) => {
    expect(nearestName(name, known, 2)).toBe(meant);
  });

  it.each(['q', 'followers', 'page', 'offset', 'sort', 'city', 'countries', '', 'x'.repeat(10_000)])(
    'is none for %j',
    (name) => {
      expect(nearestName(name, known, 2)).toBeNull();
    },
  );
});
