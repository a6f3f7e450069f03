import type { AnswerRules, LeadFieldPointers } from './http-source.ts';
import type { LeadQuery } from '../lead-source.ts';
import { follow, parsePointer } from '../../kit/json-pointer.ts';
import { parseJson } from '../../kit/json.ts';
import { toLeads, type FoundLeads } from './to-leads.ts';
import { leadFields, type LeadField } from '../lead-fields.ts';

export interface AnswerToRead {
  /** JSON. */
  bytes: Uint8Array;
  query: LeadQuery;
  rules: AnswerRules;
}

export interface ReadAnswer extends FoundLeads {
  /** Rows above `maxRows`. */
  unread: number;
}

/** Makes the answer of a search from an upstream's answer; null when that is not JSON with the list. */
export const readAnswer = async ({ bytes, query, rules }: AnswerToRead): Promise<ReadAnswer | null> => {
  const { results, nothing, fields, words, defaults, maxRows } = rules;
  const list = follow(parseJson(bytes), parsePointer(results));
  if (!Array.isArray(list)) return null;
  const found: unknown[] = nothing === null ? list : list.filter((row) => !saysNothing(row, nothing));
  const rows = found.slice(0, maxRows);
  const leads = await toLeads(rows, { query, read: createLeadFieldReader(fields), words, defaults });
  return { ...leads, unread: found.length - rows.length };
};

const saysNothing = (row: unknown, { at, values }: NonNullable<AnswerRules['nothing']>): boolean => {
  const told = follow(row, parsePointer(at));
  return values.some((value) => value === told);
};

/** The names that services commonly use for the fields of an Instagram profile, mostly the contract's first. */
const defaultPointers: Record<LeadField, string> = {
  username: '/username /user_name /userName /handle',
  full_name: '/full_name /fullName /name',
  followers:
    '/followers /followersCount /followers_count /followerCount /follower_count /edge_followed_by/count',
  following: '/following /followsCount /follows_count /followingCount /following_count /edge_follow/count',
  is_verified: '/is_verified /isVerified /verified',
  is_business: '/is_business /isBusinessAccount /is_business_account /isBusiness',
  category: '/category /businessCategoryName /business_category_name /categoryName /category_name',
  bio: '/bio /biography',
  public_email: '/public_email /publicEmail /businessEmail /business_email /email',
  media_count: '/media_count /mediaCount /postsCount /posts_count /edge_owner_to_timeline_media/count',
  gender: '/gender',
  profile_pic_url: '/profile_pic_url /profilePicUrlHD /profilePicUrl /profile_picture_url',
  // Beside a code, `country` is usually the name of the country.
  country: '/country_code /countryCode /country',
  city: '/city /city_name /cityName',
};

/**
 * Makes a function that returns the values of one row under the contract's names, unchecked, for `checkLead`: by `own`
 * pointers, and other fields by their usual names.
 */
const createLeadFieldReader = (own: LeadFieldPointers) => {
  const ways = leadFields.map(
    (field) => [field, (own[field] ?? defaultPointers[field].split(' ')).map(parsePointer)] as const,
  );
  return (row: unknown): Record<string, unknown> =>
    Object.fromEntries(ways.map(([field, each]) => [field, readFirst(row, each)]));
};

/** Returns the first value that is not empty, otherwise an empty text: it is the full name of a person who shows none. */
const readFirst = (row: unknown, ways: readonly string[][]): unknown => {
  const values = ways.map((way) => follow(row, way));
  const first = values.find(
    (value) => value !== undefined && value !== null && value !== '' && typeof value !== 'object',
  );
  return first ?? (values.includes('') ? '' : undefined);
};
