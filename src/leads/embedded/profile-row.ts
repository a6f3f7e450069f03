import type { SQLOutputValue } from 'node:sqlite';
import type { Lead } from '../lead-source.ts';

/** The columns of a stored profile, in the order of a profile's fields in an answer. */
export const profileColumns = `
  username TEXT NOT NULL,
  full_name TEXT NOT NULL,
  followers INTEGER NOT NULL,
  following INTEGER NOT NULL,
  is_verified INTEGER NOT NULL,
  is_business INTEGER NOT NULL,
  category TEXT,
  bio TEXT,
  public_email TEXT,
  media_count INTEGER,
  gender TEXT,
  profile_pic_url TEXT,
  country TEXT,
  city TEXT`;

/** The values of a profile in the order of `profileColumns`. */
export const toRow = (lead: Lead): (string | number | null)[] => [
  lead.username,
  lead.full_name,
  lead.followers,
  lead.following,
  Number(lead.is_verified),
  Number(lead.is_business),
  lead.category ?? null,
  lead.bio ?? null,
  lead.public_email ?? null,
  lead.media_count ?? null,
  lead.gender ?? null,
  lead.profile_pic_url ?? null,
  lead.country ?? null,
  lead.city ?? null,
];

type Row = Record<string, SQLOutputValue>;

/** The profile of a row; columns that are NULL are left out, and any beyond a profile's are ignored. */
export const toLead = (row: Row): Lead => {
  const lead: Lead = {
    username: text(row, 'username') ?? '',
    full_name: text(row, 'full_name') ?? '',
    followers: integer(row, 'followers') ?? 0,
    following: integer(row, 'following') ?? 0,
    is_verified: row['is_verified'] === 1,
    is_business: row['is_business'] === 1,
  };
  const optional = {
    category: text(row, 'category'),
    bio: text(row, 'bio'),
    public_email: text(row, 'public_email'),
    media_count: integer(row, 'media_count'),
    gender: gender(row),
    profile_pic_url: text(row, 'profile_pic_url'),
    country: text(row, 'country'),
    city: text(row, 'city'),
  };
  return Object.assign(
    lead,
    Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  );
};

const text = (row: Row, column: string): string | undefined => {
  const value = row[column];
  return typeof value === 'string' ? value : undefined;
};

const integer = (row: Row, column: string): number | undefined => {
  const value = row[column];
  return typeof value === 'number' ? value : undefined;
};

const gender = (row: Row): Lead['gender'] => {
  const value = row['gender'];
  return value === 'male' || value === 'female' ? value : undefined;
};
