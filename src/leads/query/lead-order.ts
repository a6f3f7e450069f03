import type { Lead } from '../lead-source.ts';

type RankedLead = Pick<Lead, 'followers' | 'username'>;

/**
 * The order of results: followers descending, then username ascending by code points (the order of UTF-8 bytes,
 * SQLite's BINARY and PostgreSQL's "C"; not that of UTF-16 units).
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

/** The code point that the unit at `index` belongs to, at its start or in its second half. */
const codePointAround = (text: string, index: number): number => {
  const unit = text.charCodeAt(index);
  const isSecondHalf = unit >= 0xdc00 && unit <= 0xdfff;
  return text.codePointAt(isSecondHalf ? index - 1 : index) ?? unit;
};
