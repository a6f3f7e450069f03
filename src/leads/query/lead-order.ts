import type { Lead } from '../lead-source.ts';

type RankedLead = Pick<Lead, 'followers' | 'username'>;

/**
 * Compares by result order: followers descending, then username ascending by code points. That is the order of UTF-8
 * bytes, SQLite's BINARY and PostgreSQL's "C", but not of UTF-16 units.
 */
export const compareLeads = (a: RankedLead, b: RankedLead): number =>
  b.followers - a.followers || compareCodePoints(a.username, b.username);

const compareCodePoints = (a: string, b: string): number => {
  const shorter = Math.min(a.length, b.length);
  for (let index = 0; index < shorter; index += 1) {
    if (a.charCodeAt(index) !== b.charCodeAt(index))
      return codePointAround(a, index) - codePointAround(b, index);
  }
  return a.length - b.length;
};

/** Returns the code point that contains the unit at `index`, in its first or second half. */
const codePointAround = (text: string, index: number): number => {
  const unit = text.charCodeAt(index);
  const isSecondHalf = unit >= 0xdc00 && unit <= 0xdfff;
  return text.codePointAt(isSecondHalf ? index - 1 : index) ?? unit;
};
