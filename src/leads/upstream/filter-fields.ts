import type { LeadQuery } from '../lead-source.ts';

/** The filters on optional fields. A profile without the field never passes. */
export const filterFields = ['country', 'category', 'gender'] as const;
export type FilterField = (typeof filterFields)[number];

export const filtersOf = (query: LeadQuery): FilterField[] =>
  filterFields.filter((field) => query[field] !== undefined);
