import type { LeadField } from '../lead-fields.ts';
import type { LeadFieldPointers } from './upstream-settings.ts';
import type { Lead } from '../lead-source.ts';
import { follow, parsePointer } from './json-pointer.ts';

/**
 * The names under which services and actors commonly give the fields of an Instagram profile, the contract's own
 * first where nothing speaks against it.
 */
const usualPointers: Record<LeadField, string[]> = {
  username: ['/username', '/user_name', '/userName', '/handle'],
  full_name: ['/full_name', '/fullName', '/name'],
  followers: [
    '/followers',
    '/followersCount',
    '/followers_count',
    '/followerCount',
    '/follower_count',
    '/edge_followed_by/count',
  ],
  following: [
    '/following',
    '/followsCount',
    '/follows_count',
    '/followingCount',
    '/following_count',
    '/edge_follow/count',
  ],
  is_verified: ['/is_verified', '/isVerified', '/verified'],
  is_business: ['/is_business', '/isBusinessAccount', '/is_business_account', '/isBusiness'],
  category: [
    '/category',
    '/businessCategoryName',
    '/business_category_name',
    '/categoryName',
    '/category_name',
  ],
  bio: ['/bio', '/biography'],
  public_email: ['/public_email', '/publicEmail', '/businessEmail', '/business_email', '/email'],
  media_count: [
    '/media_count',
    '/mediaCount',
    '/postsCount',
    '/posts_count',
    '/edge_owner_to_timeline_media/count',
  ],
  gender: ['/gender'],
  profile_pic_url: ['/profile_pic_url', '/profilePicUrlHD', '/profilePicUrl', '/profile_picture_url'],
  // Where there is a code, the country beside it is its name.
  country: ['/country_code', '/countryCode', '/country'],
  city: ['/city', '/city_name', '/cityName'],
} satisfies Record<keyof Lead, string[]>;

export interface LeadFieldReader {
  /** The values of one row under the contract's names, as they are; for `checkLead`. */
  read(row: unknown): Record<string, unknown>;
  /** The members of a row that are looked at. */
  members: string[];
}

/** Reads rows by `own` pointers, and by the usual names for the fields that it leaves open. */
export const createLeadFieldReader = (own: LeadFieldPointers): LeadFieldReader => {
  const ways = Object.entries({ ...usualPointers, ...own }).map(
    ([field, pointers]) => [field, pointers.map(parsePointer)] as const,
  );
  const members = ways.flatMap(([, each]) => each.flatMap((way) => way.slice(0, 1)));
  return {
    read: (row) => {
      const fields: Record<string, unknown> = {};
      for (const [field, each] of ways) fields[field] = readFirst(row, each);
      return fields;
    },
    members: [...new Set(members)],
  };
};

/** The first value that says anything, else an empty text, which is the full name of who shows none. */
const readFirst = (row: unknown, ways: readonly string[][]): unknown => {
  const values = ways.map((way) => follow(row, way));
  const first = values.find(
    (value) => value !== undefined && value !== null && value !== '' && typeof value !== 'object',
  );
  return first ?? (values.includes('') ? '' : undefined);
};
