import type { LeadDefaults } from '../lead-fields.ts';
import { shownValue } from '../import/shown-value.ts';
import type { Lead } from '../lead-source.ts';

/** A profile as the contract has it, or why there is none: one sentence naming field, value and what would be right. */
export type CheckedLead = { lead: Lead } | Wrong;

interface Wrong {
  problem: string;
  /** The field that the row lacks, where a default could stand for it. */
  lacks?: keyof LeadDefaults;
}

/** What followers, following and media_count can be at most; the index stores 31 bits. */
const mostCounted = 2 ** 31 - 1;
const longestUsername = 200;
/** In characters; a filter may be as long. */
export const longestCategory = 200;

/**
 * The profile that `fields` describes, under the contract's field names. Values come as files and services give
 * them: text, numbers, bigints, booleans, null.
 *
 * `username`, `followers`, `following`, `full_name`, `is_verified` and `is_business` are required; `defaults` stand for the
 * last four where a row lacks them. A full name may be an empty text, as of a person who shows none. Any other field that
 * is empty (missing, null, blank) is left out, and so is a gender that is neither male nor female. Words that stand for nothing (`null`, `none`, `nan`, `n/a`) are empty in every field
 * but `username`, `full_name` and `bio`, where they may be what somebody is called or has written; `\N` is empty in all.
 * Any other value that cannot be what its field says refuses the whole row: to leave it out silently would make filters
 * miss people (a column of "United States" in place of "US"), and to keep it would sell wrong data; a refused row is
 * reported and can be put right. Text over its bound is refused, not cut: it is the mark of a quote that swallowed
 * other rows.
 *
 * Hot: called for each row of a file of millions.
 */
export const checkLead = (
  fields: Record<string, unknown>,
  defaults: LeadDefaults = noDefaults,
): CheckedLead => {
  const username = readUsername(fields['username']);
  if (typeof username !== 'string') return username;
  const fullName = readFullName(fields['full_name']) ?? defaults.full_name;
  if (typeof fullName === 'object') return fullName;
  const followers = readCount(fields['followers'], 'followers');
  if (typeof followers === 'object') return followers;
  if (followers === undefined) return missing('followers', 'a whole number');
  if (fullName === undefined) return lacking('full_name', 'text');
  const following = readCount(fields['following'], 'following') ?? defaults.following;
  if (typeof following === 'object') return following;
  if (following === undefined) return lacking('following', countForm);
  const isVerified = readFlag(fields['is_verified'], 'is_verified') ?? defaults.is_verified;
  if (typeof isVerified === 'object') return isVerified;
  if (isVerified === undefined) return lacking('is_verified', flagForm);
  const isBusiness = readFlag(fields['is_business'], 'is_business') ?? defaults.is_business;
  if (typeof isBusiness === 'object') return isBusiness;
  if (isBusiness === undefined) return lacking('is_business', flagForm);
  const category = readText(fields['category'], 'category', longestCategory);
  if (typeof category === 'object') return category;
  const bio = readProse(fields['bio'], 'bio', 5000);
  if (typeof bio === 'object') return bio;
  const email = readEmail(fields['public_email']);
  if (typeof email === 'object') return email;
  const mediaCount = readCount(fields['media_count'], 'media_count');
  if (typeof mediaCount === 'object') return mediaCount;
  const picture = readUrl(fields['profile_pic_url']);
  if (typeof picture === 'object') return picture;
  const country = readCountry(fields['country']);
  if (typeof country === 'object') return country;
  const city = readText(fields['city'], 'city', 200);
  if (typeof city === 'object') return city;

  const lead: Lead = {
    username,
    full_name: fullName,
    followers,
    following,
    is_verified: isVerified,
    is_business: isBusiness,
  };
  if (category !== '') lead.category = category;
  if (bio !== '') lead.bio = bio;
  if (email !== '') lead.public_email = email;
  if (mediaCount !== undefined) lead.media_count = mediaCount;
  const gender = readGender(fields['gender']);
  if (gender !== undefined) lead.gender = gender;
  if (picture !== '') lead.profile_pic_url = picture;
  if (country !== '') lead.country = country;
  if (city !== '') lead.city = city;
  return { lead };
};

const wrong = (field: string, value: unknown, right: string): Wrong => ({
  problem: `${field} is ${shownValue(value)}; it must be ${right}.`,
});

const missing = (field: string, right: string): Wrong => ({
  problem: `${field} is missing; it must be ${right}.`,
});

const lacking = (field: keyof LeadDefaults, right: string): Wrong => ({
  ...missing(field, right),
  lacks: field,
});

const noDefaults: LeadDefaults = {};

const nothingWords = new Set(['null', 'none', 'nan', 'n/a', '\\n', 'undefined']);

/** Whether a text that is not free prose stands for nothing. */
const meansNothing = (text: string): boolean =>
  text === '' || (text.length <= 9 && nothingWords.has(text.toLowerCase()));

/** '' for nothing; a number is taken as its digits, as files of digits alone are typed by the tools that wrote them. */
const readProse = (value: unknown, field: string, most: number): string | Wrong => {
  if (value === undefined || value === null) return '';
  let text: string;
  if (typeof value === 'string') text = value.trim();
  else if (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value)))
    text = String(value);
  else return wrong(field, value, 'text');
  if (text.includes('\0')) text = text.replaceAll('\0', '').trim();
  if (text.length > most)
    return wrong(field, text, `${most} characters at most (this has ${text.length}; is a quote not closed?)`);
  if (text === '\\N') return '';
  return text.isWellFormed() ? text : text.toWellFormed();
};

const readFullName = (value: unknown): string | undefined | Wrong =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '\\N')
    ? undefined
    : readProse(value, 'full_name', 500);

const readText = (value: unknown, field: string, most: number): string | Wrong => {
  const text = readProse(value, field, most);
  return typeof text === 'string' && meansNothing(text) ? '' : text;
};

const plainUsername = /^[A-Za-z0-9_.]{1,200}$/;
/** Also what surrounds and parts names in files: a name with a comma behind it would be another person's. */
const notInUsername = /[\s\p{Cc}\p{Cf}/\uFFFD@"',;|\\]/u;
const usernameForm = `the name alone, 1 to ${longestUsername} characters without spaces, slashes, quotes and commas`;

const readUsername = (value: unknown): string | Wrong => {
  if (typeof value === 'string' && plainUsername.test(value)) return value;
  if (value === undefined || value === null) return missing('username', usernameForm);
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value)))
    return value < 0 ? wrong('username', value, usernameForm) : String(value);
  if (typeof value !== 'string') return wrong('username', value, usernameForm);
  const name = value.trim().replace(/^@\s*/, '').toWellFormed();
  if (name === '' || name === '\\N') return missing('username', usernameForm);
  return name.length > longestUsername || notInUsername.test(name)
    ? wrong('username', value, usernameForm)
    : name;
};

const digitsOnly = /^[0-9]{1,10}$/;
/**
 * Also thousands in commas, and the zero decimals of tools that keep whole numbers as fractions. Not 25.000, which
 * is 25 to some and 25,000 to others.
 */
const writtenCount = /^(?![0-9]{1,3}\.000$)(?:[0-9]{1,16}|[0-9]{1,3}(?:,[0-9]{3}){1,5})(?:\.0{1,6})?$/;
const countForm = `a whole number from 0 to ${mostCounted}, as 1234 or 1,234, not 1.234`;

const readCount = (value: unknown, field: string): number | undefined | Wrong => {
  let count: number;
  if (typeof value === 'string') {
    if (digitsOnly.test(value)) count = Number(value);
    else {
      const text = value.trim();
      if (meansNothing(text)) return undefined;
      if (!writtenCount.test(text)) return wrong(field, value, countForm);
      count = Number(text.replaceAll(',', ''));
    }
  } else if (value === undefined || value === null) return undefined;
  // How tools that keep numbers with gaps as fractions write a gap.
  else if (Number.isNaN(value)) return undefined;
  else if (typeof value === 'number') count = value;
  else if (typeof value === 'bigint') count = Number(value);
  else return wrong(field, value, countForm);
  // Adding zero makes 0 of -0.
  return Number.isInteger(count) && count >= 0 && count <= mostCounted
    ? count + 0
    : wrong(field, value, countForm);
};

const flags = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  [1, true],
  [0, false],
  [1n, true],
  [0n, false],
  ...['true', 't', 'yes', 'y', '1', '1.0', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'f', 'no', 'n', '0', '0.0', 'False', 'FALSE'].map((word) => [word, false] as const),
]);

const flagForm = 'true or false';

const readFlag = (value: unknown, field: string): boolean | undefined | Wrong => {
  const flag = flags.get(value);
  if (flag !== undefined) return flag;
  if (value === undefined || value === null || Number.isNaN(value)) return undefined;
  if (typeof value === 'string') {
    const word = value.trim().toLowerCase();
    if (meansNothing(word)) return undefined;
    const known = flags.get(word);
    if (known !== undefined) return known;
  }
  return wrong(field, value, flagForm);
};

const readGender = (value: unknown): 'male' | 'female' | undefined => {
  if (typeof value !== 'string' || value === '') return undefined;
  switch (value.trim().toLowerCase()) {
    case 'female':
    case 'f':
      return 'female';
    case 'male':
    case 'm':
      return 'male';
    default:
      return undefined;
  }
};

const twoLetters = /^[A-Z]{2}$/;

const readCountry = (value: unknown): string | Wrong => {
  if (typeof value === 'string' && twoLetters.test(value)) return value;
  const text = readText(value, 'country', 200);
  if (text === '' || typeof text === 'object') return text;
  // Not by upper case first: that makes two letters of one, as of the ligature fl.
  return /^[A-Za-z]{2}$/.test(text)
    ? text.toUpperCase()
    : wrong('country', value, 'a country code of two letters (ISO 3166), as US');
};

const readEmail = (value: unknown): string | Wrong => {
  const text = readText(value, 'public_email', 320);
  if (text === '' || typeof text === 'object') return text;
  return /^[^\s@]+@[^\s@]+$/.test(text) ? text : wrong('public_email', value, 'an e-mail address');
};

const readUrl = (value: unknown): string | Wrong => {
  const text = readText(value, 'profile_pic_url', 2048);
  if (text === '' || typeof text === 'object') return text;
  return /^https?:\/\/[^\s/]\S*$/i.test(text)
    ? text
    : wrong('profile_pic_url', value, 'an http or https address');
};
