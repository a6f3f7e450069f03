import { describe, expect, it } from 'vitest';
import { createProfiles, firstProfiles } from '../../../bench/leads/generate-profiles.ts';
import { createDraws } from '../../../bench/leads/world/draws.ts';
import { inventUsername } from '../../../bench/leads/world/invent-username.ts';
import { maxProfiles, shuffleIndex } from '../../../bench/leads/world/syllables.ts';
import { neverTogether, togetherAtTheBottom } from '../../../bench/leads/world/word-lists.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { leadTerms } from '../../../src/leads/query/lead-terms.ts';
import { usernameKey } from '../../../src/leads/query/fold-text.ts';

const profiles = createProfiles(1);
const some = [...firstProfiles(profiles, 10_000)];
const termsOf = new Map(some.map((lead) => [lead, leadTerms(lead)]));
const share = (has: (lead: Lead) => boolean): number => some.filter(has).length / some.length;
const hasTerm = (lead: Lead, term: string): boolean => termsOf.get(lead)?.has(term) ?? false;

describe('generated profiles', () => {
  it('are of their seed and index alone, in whatever order they are asked for', () => {
    const again = createProfiles(1);
    const indexes = [9_999, 0, 7, 7, 3, maxProfiles - 1];
    expect(indexes.map(again.profileAt)).toEqual(indexes.map(profiles.profileAt));
    expect(createProfiles(2).profileAt(7)).not.toEqual(some[7]);
  });

  it('have usernames of their own, also those of people who are called alike', () => {
    const parts = { given: 'Ana', family: 'Silva', word: 'art' };
    const draws = createDraws(1);
    draws.restart(0);
    const namesakes = Array.from({ length: 20_000 }, (_, number) =>
      inventUsername({ ...parts, number: maxProfiles - 1 - number }, draws),
    );
    const keys = [...some.map(({ username }) => username), ...namesakes].map(usernameKey);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('have numbers of their own', () => {
    const neighbours = (index: number): number[] =>
      Array.from({ length: 25 }, (_, bit) => index ^ (1 << bit));
    const indexes = new Set(Array.from({ length: 1000 }, (_, place) => neighbours(place * 33_000)).flat());
    const numbers = new Set([...indexes].map((index) => shuffleIndex(index, 1)));
    expect(numbers.size).toBe(indexes.size);
    expect(Math.max(...numbers)).toBeLessThan(maxProfiles);
  });

  it('are refused beyond the usernames that there are', () => {
    expect(() => profiles.profileAt(maxProfiles)).toThrow(RangeError);
    expect(() => profiles.profileAt(-1)).toThrow(RangeError);
  });

  it('are skewed: few followers, large countries and frequent words prevail', () => {
    expect(share(({ followers }) => followers < 1000)).toBeGreaterThan(0.6);
    expect(share(({ followers }) => followers > 1_000_000)).toBeLessThan(0.01);
    expect(share(({ country }) => country === 'US')).toBeGreaterThan(0.1);
    expect(share(({ country }) => country === 'IS')).toBeLessThan(0.01);
    expect(share((lead) => hasTerm(lead, 'the'))).toBeGreaterThan(0.1);
    expect(new Set(some.map(({ country }) => country)).size).toBeGreaterThan(55);
  });

  it('have e-mail addresses at example.com alone, in three of ten', () => {
    const addresses = some.flatMap(({ public_email: address }) => address ?? []);
    expect(addresses.every((address) => address.endsWith('@example.com'))).toBe(true);
    expect(addresses.length / some.length).toBeCloseTo(0.3, 1);
  });

  it('have words that are frequent each and never meet, and words that meet at the bottom alone', () => {
    const meeting = (words: readonly string[]): Lead[] =>
      some.filter((lead) => words.filter((word) => hasTerm(lead, word)).length > 1);
    expect(share((lead) => hasTerm(lead, 'virgo'))).toBeGreaterThan(0.02);
    expect(meeting(neverTogether)).toEqual([]);
    const bottom = meeting(togetherAtTheBottom);
    expect(bottom.length).toBeGreaterThan(0);
    expect(Math.max(...bottom.map(({ followers }) => followers))).toBeLessThan(20);
  });
});
