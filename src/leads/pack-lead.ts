import { leadFields } from './lead-fields.ts';
import type { Lead } from './lead-source.ts';

/** Writes a profile without the names of its fields. */
export const packLead = (lead: Lead): string =>
  JSON.stringify(leadFields.map((field) => lead[field] ?? null));

/** Reads what `packLead` has written. */
export const unpackLead = (packed: string): Lead => {
  const values: unknown[] = JSON.parse(packed);
  const entries = leadFields.flatMap((field, place) =>
    values[place] === null ? [] : [[field, values[place]] as const],
  );
  // The text was made by `packLead`.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Lead;
};
