import type { LeadQuery } from '../lead-source.ts';

/** The filters on what a profile may leave open: one without the field passes none. */
export const filterFields = ['country', 'category', 'gender'] as const;
export type FilterField = (typeof filterFields)[number];

export const filtersOf = (query: LeadQuery): FilterField[] =>
  filterFields.filter((field) => query[field] !== undefined);
