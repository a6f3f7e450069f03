import type { Lead } from '../lead-source.ts';

type RankedLead = Pick<Lead, 'followers' | 'username'>;

/**
 * Compares by result order: followers descending, then username ascending by code points. That is the order of UTF-8
 * bytes, SQLite's BINARY and PostgreSQL's "C", but not of UTF-16 units.
 */
export const compareLeads = (a: RankedLead, b: RankedLead): number =>
  b.followers - a.followers || Buffer.compare(Buffer.from(a.username), Buffer.from(b.username));
