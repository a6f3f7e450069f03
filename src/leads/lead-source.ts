import { z } from 'zod';

/** A checked search: `limit` is set, strings are trimmed and not empty. */
export interface LeadQuery {
  query?: string;
  /** Upper case ISO 3166 alpha-2. */
  country?: string;
  category?: string;
  gender?: 'male' | 'female';
  minFollowers?: number;
  maxFollowers?: number;
  /** The last profile of the page before: only profiles behind it are found. */
  after?: Pick<Lead, 'followers' | 'username'>;
  limit: number;
}

/** A profile in the form of the contract. Absent optional fields are left out, never null. */
export const leadSchema = z.object({
  username: z.string(),
  full_name: z.string(),
  followers: z.int(),
  following: z.int(),
  is_verified: z.boolean(),
  is_business: z.boolean(),
  category: z.string().optional(),
  bio: z.string().optional(),
  public_email: z.string().optional(),
  media_count: z.int().optional(),
  gender: z.enum(['male', 'female']).optional(),
  profile_pic_url: z.string().optional(),
  country: z.string().optional(),
  city: z.string().optional(),
});

export type Lead = z.infer<typeof leadSchema>;

/** Values with about how many profiles have each: rounded down, at least 10. */
const facets = z.array(z.object({ value: z.string(), profiles: z.int() })).readonly();

/** What can be searched for, the most frequent first. */
export const leadFacets = z.object({
  /** Upper case ISO 3166 alpha-2. */
  countries: facets,
  /** In lower case; the 100 most frequent. */
  categories: facets,
});

export type LeadFacets = z.output<typeof leadFacets>;

export interface LeadStatus {
  /** Whether searches can be answered. */
  ready: boolean;
  /** Whether all profiles are generated and fictional. */
  synthetic: boolean;
  /** The number of profiles; null when only the upstream knows. */
  profiles: number | null;
  /** Whether searches are free for the operator although only the upstream knows `profiles`. Absent: they may cost money. */
  countsFree?: boolean;
  /** Changes when answers may change. Empty for a source that cannot tell. */
  revision: string;
  /** Made once for each revision. Absent: the source cannot tell. */
  facets?: LeadFacets;
}

/** Finds those of `usernames` who asked to be forgotten. Rejects when this is unknown. */
export type FindForgotten = (
  usernames: readonly string[],
  options: { signal: AbortSignal },
) => Promise<ReadonlySet<string>>;

export interface LeadSearchOptions {
  signal: AbortSignal;
  /** Whether services that the operator may pay for each search are left alone. Default: they are asked, too. */
  isFree?: boolean;
}

/**
 * A source of leads, sorted by followers descending, then username ascending. Throws AppError `upstream_error` (502)
 * when it cannot answer now. An empty array means that nothing matches.
 */
export interface LeadSource {
  search(query: LeadQuery, options: LeadSearchOptions): Promise<Lead[]>;
  status(): LeadStatus;
  close(): Promise<void>;
}

export interface Leads extends LeadSource {
  /** Checks profiles of earlier searches. Rejects with AppError `upstream_error`, or the signal's reason. */
  findForgotten: FindForgotten;
}
