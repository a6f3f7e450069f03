import type { Lead } from '../../src/leads/lead-source.ts';

/** A profile with what every profile has, changed by `fields`. */
export const buildLead = (fields: Partial<Lead> = {}): Lead => ({
  username: 'someone',
  full_name: 'Some One',
  followers: 1000,
  following: 10,
  is_verified: false,
  is_business: false,
  ...fields,
});

/** Profiles that all have `mark` for their name, of people who are the same for every mark. */
export const marked = (mark: string, count = 20): Lead[] =>
  Array.from({ length: count }, (_, index) =>
    buildLead({ username: `user${index}`, full_name: mark, followers: 1000 - index }),
  );
