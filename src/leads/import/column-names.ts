import { leadFields, type LeadField } from '../lead-fields.ts';

/** Other names that exports and scrapers give the fields, as `nameKey` writes them. */
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

/** A name without case, spaces and signs: `Full Name`, `fullName` and `full_name` are one. */
const nameKey = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** A field that a column's name stands for, by the field's own name or by another one. */
export interface NamedField {
  field: LeadField;
  isOwnName: boolean;
}

const fieldsByKey = new Map<string, NamedField>([
  ...leadFields.map((field) => [nameKey(field), { field, isOwnName: true }] as const),
  ...leadFields.flatMap((field) =>
    (synonyms[field] ?? '')
      .split(' ')
      .filter((key) => key !== '')
      .map((key) => [key, { field, isOwnName: false }] as const),
  ),
]);

export const fieldNamed = (name: string): NamedField | null => fieldsByKey.get(nameKey(name)) ?? null;

/** Whether two names of columns are one, as people write them: without case and spaces around. */
export const isSameColumn = (a: string, b: string): boolean => columnKey(a) === columnKey(b);

export const columnKey = (name: string): string => name.trim().toLowerCase();

/** A column's name for people; a comma at the end of a heading makes one without a name. */
export const shownColumn = (name: string): string => (name === '' ? '(no name)' : name);
