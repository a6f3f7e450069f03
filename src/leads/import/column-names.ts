import { leadFields, type LeadField } from '../lead-fields.ts';

/** Other names of the fields in exports and scrapers, as `nameKey` writes them. */
const synonyms: Partial<Record<LeadField, string>> = {
  username: 'handle user userhandle screenname ighandle igusername instagramhandle instagramusername',
  full_name: 'name displayname',
  followers: 'followerscount followercount numfollowers numberoffollowers totalfollowers edgefollowedbycount',
  following: 'followingcount followscount follows followings numfollowing edgefollowcount',
  is_verified: 'verified',
  is_business: 'business isbusinessaccount businessaccount',
  category: 'categoryname businesscategory businesscategoryname',
  bio: 'biography',
  public_email: 'email businessemail contactemail emailaddress publicemailaddress',
  media_count: 'posts postscount postcount numposts numberofposts totalposts edgeownertotimelinemediacount',
  gender: 'sex',
  profile_pic_url:
    'profilepic profilepicture profilepictureurl profileimage profileimageurl avatar avatarurl',
  country: 'countrycode',
  city: 'cityname',
};

/** Returns a name without case, spaces and punctuation: `Full Name`, `fullName` and `full_name` are equal. */
const nameKey = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** A field that matches a column name, by its own name or by a synonym. */
export interface NamedField {
  field: LeadField;
  isOwnName: boolean;
}

const fieldsByKey = new Map<string, NamedField>([
  ...leadFields.map((field) => [nameKey(field), { field, isOwnName: true }] as const),
  ...leadFields.flatMap((field) =>
    (synonyms[field]?.split(' ') ?? []).map((key) => [key, { field, isOwnName: false }] as const),
  ),
]);

export const fieldNamed = (name: string): NamedField | null => fieldsByKey.get(nameKey(name)) ?? null;

/** Compares two column names without case and surrounding spaces. */
export const isSameColumn = (a: string, b: string): boolean =>
  a.trim().toLowerCase() === b.trim().toLowerCase();

/** Returns a column name for display. A comma at the end of a heading creates a column without a name. */
export const shownColumn = (name: string): string => (name === '' ? '(no name)' : name);
