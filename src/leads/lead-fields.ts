import { leadSchema, type Lead } from './lead-source.ts';

export type LeadField = keyof Lead;

/** The fields of a profile, in the order of an answer. */
export const leadFields: readonly LeadField[] = leadSchema.keyof().options;

/** The fields of a row without any value. */
export const noFields = Object.fromEntries(leadFields.map((field) => [field, undefined])) as Record<
  LeadField,
  unknown
>;

export const defaultableFields = ['full_name', 'following', 'is_verified', 'is_business'] as const;

/** Values that an operator sets for required fields which a row may lack. */
export type LeadDefaults = Partial<Pick<Lead, (typeof defaultableFields)[number]>>;

/** Writes a profile without the names of its fields. */
export const packLead = (lead: Lead): string =>
  JSON.stringify(leadFields.map((field) => lead[field] ?? null));

/** Reads what `packLead` has written. */
export const unpackLead = (packed: string): Lead => {
  const values: unknown[] = JSON.parse(packed);
  const entries = leadFields.flatMap((field, index) =>
    values[index] === null ? [] : [[field, values[index]] as const],
  );
  // The text was made by `packLead`.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Lead;
};
