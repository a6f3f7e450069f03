import { checkLead } from './check-lead.ts';

/** The required fields but the username, to check one field of a profile. */
export const anybody = { full_name: '', followers: 0, following: 0, is_verified: false, is_business: false };

/** Reads a name as profiles have it, without its at-sign. */
export const readUsername = (text: string): { name: string } | { problem: string } => {
  const checked = checkLead({ ...anybody, username: text });
  return 'lead' in checked ? { name: checked.lead.username } : checked;
};
