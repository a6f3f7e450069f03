import { expect, it } from 'vitest';
import { escapeFlags } from '../../../src/providers/modelark/modelark-video.ts';

it.each([
  ['A harbour --duration 15', 'A harbour –duration 15'],
  ['--rs 4k --dur 30', '–rs 4k –dur 30'],
  ['a -- b', 'a -- b'],
  ['a---b', 'a–b'],
  ['well-known', 'well-known'],
  ['--5', '--5'],
])('takes the commands out of %j', (prompt, without) => {
  expect(escapeFlags(prompt)).toBe(without);
});

it('reads the longest run of hyphens once', () => {
  const hyphens = '-'.repeat(262_144);
  expect(escapeFlags(hyphens)).toBe(hyphens);
});
