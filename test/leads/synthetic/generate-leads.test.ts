import { describe, expect, it } from 'vitest';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';

const all = [...generateLeads({ seed: 1, profiles: 6_000 })];
const share = (count: number): number => count / all.length;
const countBy = (values: (string | undefined)[]): number[] =>
  [...Map.groupBy(values, (value) => value).values()].map(({ length }) => length).sort((a, b) => b - a);

describe('the generated profiles', () => {
  it('are the same for the same seed and number, and others for another seed', () => {
    expect([...generateLeads({ seed: 1, profiles: 6_000 })]).toEqual(all);
    const others = [...generateLeads({ seed: 2, profiles: 100 })];
    expect(others).not.toEqual(all.slice(0, 100));
  });

  it('have distinct usernames as the platform allows them', () => {
    expect(new Set(all.map(({ username }) => username)).size).toBe(all.length);
    for (const { username } of all) expect(username).toMatch(/^[a-z][a-z0-9._]{2,29}$/);
  });

  it('say of themselves that they are synthetic, and give addresses in reserved domains only', () => {
    for (const { username, profile_pic_url, public_email = 'none@example.com', bio = '' } of all) {
      expect(profile_pic_url).toBe(`https://example.com/synthetic-profiles/${username}.jpg`);
      expect(public_email).toMatch(/^[a-z0-9._]+@example\.(com|org)$/);
      expect(bio.replaceAll(public_email, '')).not.toMatch(/@\S+\.\w/);
    }
  });

  it('have the fields and values that the contract describes', () => {
    for (const lead of all) {
      expect(Object.values(lead)).not.toContain(undefined);
      expect(lead.category !== undefined).toBe(lead.is_business);
      expect(lead.public_email === undefined || lead.is_business).toBe(true);
      expect(lead.city === undefined || lead.country !== undefined).toBe(true);
      expect(lead.country ?? 'US').toMatch(/^[A-Z]{2}$/);
      expect(lead.bio ?? 'none').toMatch(/^[^]{1,150}$/);
      expect(`${lead.full_name}${lead.bio}`.isWellFormed()).toBe(true);
      expect([lead.followers, lead.following, lead.media_count].every(Number.isSafeInteger)).toBe(true);
    }
  });

  it.each(['Beauty', 'Fitness', 'Tech', 'Food', 'Travel', 'Fashion'])('have the category %s', (category) => {
    expect(all.filter((lead) => lead.category === category).length).toBeGreaterThan(100);
  });

  it('are as uneven as real ones: followers, countries, optional fields', () => {
    const followers = all.map((lead) => lead.followers).sort((a, b) => a - b);
    expect(followers[0]).toBeLessThan(1000);
    expect(followers[3_000]).toBeLessThan(5000);
    expect(followers.at(-1)).toBeGreaterThan(10_000_000);
    const countries = countBy(all.map(({ country }) => country));
    expect(countries[0]).toBeGreaterThan(10 * countries.at(-1)!);
    for (const field of ['bio', 'category', 'gender', 'country', 'city', 'public_email'] as const) {
      const present = share(all.filter((lead) => lead[field] !== undefined).length);
      expect(present).toBeGreaterThan(0.2);
      expect(present).toBeLessThan(0.98);
    }
    expect(share(all.filter(({ bio }) => bio?.includes('\n')).length)).toBeGreaterThan(0.1);
    expect(share(all.filter(({ bio }) => /\p{Emoji_Presentation}/u.test(bio ?? '')).length)).toBeGreaterThan(
      0.1,
    );
  });
});
