import { foldText } from './fold-text.ts';
import type { Lead } from './lead-source.ts';
import { termsOf } from './search-terms.ts';

/** The characters (UTF-16 units) of each field that are searched; the rest is only shown. */
const maxSearchedCharacters = 2000;

/**
 * The terms under which a profile is found: those of its username, full name, category and bio. A username
 * gives terms three times: as it stands (`john`, `doe99` of `John.Doe99`), split also at digits and case
 * changes (`doe`, `99`), and whole, without what divides it (`johndoe99`).
 */
export const leadTerms = (lead: Lead): Set<string> => {
  const username = searched(lead.username).normalize('NFC');
  const fields = [
    username,
    splitUsername(username),
    foldText(username).replace(dividers, ''),
    searched(lead.full_name),
    searched(lead.category ?? ''),
    searched(lead.bio ?? ''),
  ];
  return new Set(fields.flatMap(termsOf));
};

const searched = (text: string): string => text.slice(0, maxSearchedCharacters);

const dividers = /[^\p{L}\p{N}\p{M}]+/gu;
const humps =
  /(?<=\p{Ll}\p{M}*)(?=\p{Lu})|(?<=\p{Lu}\p{M}*)(?=\p{Lu}\p{M}*\p{Ll})|(?<=\p{N})(?=\p{L})|(?<=[\p{L}\p{M}])(?=\p{N})/gu;

const splitUsername = (username: string): string => username.replace(humps, ' ');
