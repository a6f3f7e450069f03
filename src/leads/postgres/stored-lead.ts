import type { Lead } from '../lead-source.ts';

/** A profile on its way from one table to another. */
export interface StoredLead {
  lead: Lead;
  /** The profile as JSON, as it stands in the table. */
  json: string;
  /** person-digest.ts, as text. */
  person: string;
}
