import type { LeadDefaults } from '../lead-fields.ts';
import type { Lead } from '../lead-source.ts';
import { countryNamed } from './country-names.ts';
import { isLongCategory } from './lead-filters.ts';
import { shownValue } from './shown-value.ts';

/** A profile of the contract, or the problem as one sentence with field, value and correction. */
export type CheckedLead = CheckedProfile | Wrong;

interface CheckedProfile {
  lead: Lead;
  /** A country that is not known, for a message. The profile has none. */
  unknownCountry?: string;
}

interface Wrong {
  problem: string;
  /** The missing field, if a default could replace it. */
  lacks?: keyof LeadDefaults;
}

/** Maximum of followers, following and media_count: the index stores 31 bits. */
const maxCounted = 2 ** 31 - 1;
const longestUsername = 200;
/** In characters. A filter may be as long. */
export const longestCategory = 200;

/**
 * Checks `fields`, named as in the contract, and returns the profile. Values come as files and services give them:
 * text, numbers, bigints, booleans, null.
 *
 * - `username`, `followers`, `following`, `full_name`, `is_verified` and `is_business` are required. `defaults` replace
 *   the last four if a row lacks them. A full name may be an empty text, for a person who shows none.
 * - Any other empty field (missing, null, blank) is left out, and so is a gender that is neither male nor female.
 * - The words `null`, `none`, `nan` and `n/a` count as empty, except in `username`, `full_name` and `bio`, where they
 *   may be real. `\N` is empty everywhere.
 * - A country is a code, or a name in a common language. An unknown one is left out, and told.
 * - Any other invalid value rejects the whole row. To drop it silently would make filters miss people, and to keep it
 *   would sell wrong data. A rejected row is reported and can be corrected.
 * - Text over its limit is rejected, not cut: an unclosed quote has probably swallowed other rows.
 *
 * Hot: runs for each row of files with millions of rows.
 */
export const checkLead = (
  fields: Record<string, unknown>,
  defaults: LeadDefaults = noDefaults,
): CheckedLead => {
  const username = checkUsername(fields['username']);
  if (typeof username !== 'string') return username;
  const fullName = readFullName(fields['full_name']) ?? defaults.full_name;
  if (typeof fullName === 'object') return fullName;
  const followers = readCount(fields['followers'], 'followers') ?? missing('followers', 'a whole number');
  if (typeof followers === 'object') return followers;
  if (fullName === undefined) return lacking('full_name', 'text');
  const following =
    readCount(fields['following'], 'following') ?? defaults.following ?? lacking('following', countForm);
  if (typeof following === 'object') return following;
  const isVerified =
    readFlag(fields, 'is_verified') ?? defaults.is_verified ?? lacking('is_verified', flagForm);
  if (typeof isVerified === 'object') return isVerified;
  const isBusiness =
    readFlag(fields, 'is_business') ?? defaults.is_business ?? lacking('is_business', flagForm);
  if (typeof isBusiness === 'object') return isBusiness;
  const category = readCategory(fields['category']);
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
  if (typeof country === 'object' && country !== null) return country;
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
  if (country !== null && country !== '') lead.country = country;
  if (city !== '') lead.city = city;
  return country === null ? { lead, unknownCountry: shownValue(fields['country']) } : { lead };
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

/** Returns true if a text that is not free prose means "no value". */
const meansNothing = (text: string): boolean =>
  text === '' || (text.length <= 9 && nothingWords.has(text.toLowerCase()));

/** Returns '' for no value. A number becomes its digits: some tools write texts of digits as numbers. */
const readProse = (value: unknown, field: string, most: number): string | Wrong => {
  if (value === undefined || value === null) return '';
  let text: string;
  if (typeof value === 'string') text = value.trim();
  else if (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value)))
    text = String(value);
  else return wrong(field, value, 'text');
  if (text.includes('\0')) text = text.replaceAll('\0', '').trim();
  if (text.length > most)
    return wrong(field, text, `at most ${most} characters (it has ${text.length}; is a quote not closed?)`);
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

/** Some tools write an unset category also before a set one: `None,Entrepreneur`. */
const readCategory = (value: unknown): string | Wrong => {
  const category = typeof value === 'string' && value.startsWith('None,') ? value.slice(5) : value;
  const text = readText(category, 'category', longestCategory);
  return typeof text === 'string' && isLongCategory(text)
    ? wrong('category', value, 'shorter; in lower case it has more than 1,000 bytes')
    : text;
};

const plainUsername = /^[A-Za-z0-9_.]{1,200}$/;
/** Includes characters around and between names in files: a trailing comma would name another person. */
const notInUsername = /[\s\p{Cc}\p{Cf}/\uFFFD@"',;|\\]/u;
const usernameForm = `only the name, 1 to ${longestUsername} characters without spaces, slashes, quotes or commas`;

const checkUsername = (value: unknown): string | Wrong => {
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
 * Allows thousands separators (commas) and zero decimals from tools that store whole numbers as fractions. Not 25.000,
 * which is 25 to some and 25,000 to others.
 */
const writtenCount = /^(?![0-9]{1,3}\.000$)(?:[0-9]{1,16}|[0-9]{1,3}(?:,[0-9]{3}){1,5})(?:\.0{1,6})?$/;
const countForm = `a whole number from 0 to ${maxCounted}, such as 1234 or 1,234, not 1.234`;

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
  // Tools that store numbers with gaps as fractions write a gap as NaN.
  else if (Number.isNaN(value)) return undefined;
  else if (typeof value === 'number') count = value;
  else if (typeof value === 'bigint') count = Number(value);
  else return wrong(field, value, countForm);
  // Adding zero turns -0 into 0.
  return Number.isInteger(count) && count >= 0 && count <= maxCounted
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

const readFlag = (fields: Record<string, unknown>, field: string): boolean | undefined | Wrong => {
  const value = fields[field];
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

const genders = new Map<string, 'male' | 'female'>([
  ['female', 'female'],
  ['f', 'female'],
  ['male', 'male'],
  ['m', 'male'],
]);

const readGender = (value: unknown): 'male' | 'female' | undefined =>
  typeof value === 'string' ? genders.get(value.trim().toLowerCase()) : undefined;

const twoLetters = /^[A-Z]{2}$/;

/** Null: not known. */
const readCountry = (value: unknown): string | null | Wrong => {
  if (typeof value === 'string' && twoLetters.test(value)) return value;
  const text = readText(value, 'country', 200);
  if (text === '') return '';
  if (typeof text === 'object') return typeof value === 'string' ? text : null;
  // No upper-casing first: it turns one letter into two, such as the ligature fl.
  return /^[A-Za-z]{2}$/.test(text) ? text.toUpperCase() : countryNamed(text);
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

/** The required fields but the username, to check one field of a profile. */
export const anybody = { full_name: '', followers: 0, following: 0, is_verified: false, is_business: false };

/** Reads a name as profiles have it, without its at-sign. */
export const readUsername = (text: string): { name: string } | { problem: string } => {
  const checked = checkLead({ ...anybody, username: text });
  return 'lead' in checked ? { name: checked.lead.username } : checked;
};
