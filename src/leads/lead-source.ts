/** A checked search: `limit` is set, strings are trimmed and not empty. */
export interface LeadQuery {
  query?: string;
  /** Upper case ISO 3166 alpha-2. */
  country?: string;
  category?: string;
  gender?: 'male' | 'female';
  minFollowers?: number;
  maxFollowers?: number;
  limit: number;
}

/** A profile in the form of the contract. Absent optional fields are left out, never null. */
export interface Lead {
  username: string;
  full_name: string;
  followers: number;
  following: number;
  is_verified: boolean;
  is_business: boolean;
  category?: string;
  bio?: string;
  public_email?: string;
  media_count?: number;
  gender?: 'male' | 'female';
  profile_pic_url?: string;
  country?: string;
  city?: string;
}

export interface LeadStatus {
  /** Whether searches can be answered. */
  ready: boolean;
  /** Whether all profiles are generated and fictional. */
  synthetic: boolean;
  /** The number of profiles; null when only the upstream knows. */
  profiles: number | null;
  /** Changes when answers may change. Empty for a source that cannot tell. */
  revision: string;
}

/** Finds those of `usernames` who asked to be forgotten. Rejects when this is unknown. */
export type FindForgotten = (
  usernames: readonly string[],
  options: { signal: AbortSignal },
) => Promise<ReadonlySet<string>>;

/**
 * A source of leads, sorted by followers descending, then username ascending. Throws AppError `upstream_error` (502)
 * when it cannot answer now. An empty array means that nothing matches.
 */
export interface LeadSource {
  search(query: LeadQuery, options: { signal: AbortSignal }): Promise<Lead[]>;
  status(): LeadStatus;
  close(): Promise<void>;
}

/** The leads of a gateway. */
export interface Leads extends LeadSource {
  /** Checks profiles of earlier searches. Rejects with AppError `upstream_error`, or the signal's reason. */
  findForgotten: FindForgotten;
}
