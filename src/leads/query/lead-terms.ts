import { eachWord } from './each-word.ts';
import type { Lead } from '../lead-source.ts';
import { addTerms } from './search-terms.ts';

/** Only this many UTF-16 units of each field are searched. */
const maxSearchedCharacters = 2000;

/**
 * Returns the terms of username, full name, category and bio. A username gives three sets: as it stands (`john`,
 * `doe99` of `John.Doe99`), split also at digits and case changes (`doe`, `99`), and whole without dividers
 * (`johndoe99`).
 */
export const leadTerms = (lead: Lead): Set<string> => {
  const terms = new Set<string>();
  addUsername(searched(lead.username), terms);
  addTerms(searched(lead.full_name), terms);
  if (lead.category !== undefined) addTerms(searched(lead.category), terms);
  if (lead.bio !== undefined) addTerms(searched(lead.bio), terms);
  return terms;
};

const searched = (text: string): string => text.slice(0, maxSearchedCharacters);

const addUsername = (written: string, terms: Set<string>): void => {
  const username = written.normalize('NFC');
  addTerms(username, terms);
  if (maySplit.test(username)) addTerms(splitUsername(username), terms);
  if (mayDivide.test(username)) addTerms(withoutDividers(username), terms);
};

/** Without a match, as in most usernames, splitting or removing dividers changes nothing. */
const maySplit = /[0-9A-Z]|[^\0-\x7F]/;
const mayDivide = /[^0-9A-Za-z]/;

const humps =
  /(?<=\p{Ll}\p{M}*)(?=\p{Lu})|(?<=\p{Lu}\p{M}*)(?=\p{Lu}\p{M}*\p{Ll})|(?<=\p{N})(?=\p{L})|(?<=[\p{L}\p{M}])(?=\p{N})/gu;

const splitUsername = (username: string): string => username.replace(humps, ' ');

const withoutDividers = (username: string): string => {
  let whole = '';
  eachWord(username, (word) => {
    whole += word;
  });
  return whole;
};
