import { describe, expect, it } from 'vitest';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { isSynthetic } from '../../../src/leads/synthetic/synthetic-mark.ts';
import { buildLead } from '../build-lead.ts';

describe('a profile', () => {
  it('that was generated says so itself', () => {
    const generated = [...generateLeads({ seed: 3, profiles: 300 })];
    expect(generated.filter(isSynthetic)).toHaveLength(300);
  });

  it.each([
    buildLead(),
    buildLead({ profile_pic_url: 'https://example.com/a.jpg' }),
    { profile_pic_url: 5 },
    null,
    'https://example.com/synthetic-profiles/a.jpg',
  ])('of somebody does not: %j', (profile) => {
    expect(isSynthetic(profile)).toBe(false);
  });
});
