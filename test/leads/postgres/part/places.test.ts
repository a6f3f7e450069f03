import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { narrowPlaces } from '../../../../src/leads/postgres/part/match-places.ts';
import {
  countBits,
  quickenPlaces,
  readPlaces,
  storePlaces,
} from '../../../../src/leads/postgres/part/places.ts';

const profiles = 300;
/** From next to none of the places to next to all of them. */
const places = fc
  .tuple(fc.array(fc.nat(profiles - 1), { maxLength: 900, size: 'max' }), fc.nat(9))
  .map(([all, share]) => new Set(all.filter((place) => place % 10 <= share)))
  .map((all) => [...all].sort((a, b) => a - b));

/** As they come out of a block: the bytes do not begin where words do. */
const amidst = (bytes: Uint8Array): Uint8Array => {
  const block = new Uint8Array(bytes.length + 9).fill(0xff);
  block.set(bytes, 3);
  return block.subarray(3, 3 + bytes.length);
};
const store = (wanted: readonly number[]) => {
  const { form, bytes } = storePlaces(Uint16Array.from(wanted), profiles);
  return { form, bytes: amidst(bytes) };
};

describe('the places of a part', () => {
  it('are read as they were stored, in the quicker form too', () => {
    fc.assert(
      fc.property(places, (wanted) => {
        const stored = store(wanted);
        expect([...readPlaces(stored)]).toEqual(wanted);
        const quick = quickenPlaces(stored, profiles);
        expect([...readPlaces(quick)]).toEqual(wanted);
        if (quick.form === 'bitmap') expect(countBits(quick.bytes)).toBe(wanted.length);
      }),
    );
  });

  it('are narrowed to those in every set, whatever the forms', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(places, fc.boolean()), { minLength: 1, maxLength: 4 }), (wanted) => {
        const sets = wanted.map(([one, isQuick]) =>
          isQuick ? quickenPlaces(store(one), profiles) : store(one),
        );
        const [first = [], ...others] = wanted.map(([one]) => one);
        const expected = first.filter((place) => others.every((other) => other.includes(place)));
        expect([...narrowPlaces(null, sets)]).toEqual(expected);
        expect([...narrowPlaces(Uint16Array.from(first), sets)]).toEqual(expected);
      }),
    );
  });
});
