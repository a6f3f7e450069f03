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
