import { anybody, checkLead } from '../query/check-lead.ts';
import { defaultableFields, leadFields, type LeadDefaults } from '../lead-fields.ts';
import { LeadInputError, type ColumnMap } from './input-options.ts';
import type { RejectedLimit } from './rejected-limit.ts';

/* Readers of the options of an import as people write them. Each throws LeadInputError, which describes the form. */

/** Splits `field=text` at the first equals sign. Throws LeadInputError for a field that is not one of `fields`. */
const readField = <F extends string>(
  pair: string,
  fields: readonly F[],
  example: string,
): { field: F; text: string } => {
  const at = pair.indexOf('=');
  const name = pair.slice(0, Math.max(at, 0)).trim();
  const field = fields.find((known) => known === name);
  if (field === undefined) throw new LeadInputError(`Write ${example}. The fields: ${fields.join(', ')}.`);
  return { field, text: pair.slice(at + 1) };
};

/** Adds one `field=column` to those before it. Throws LeadInputError. */
export const readColumn = (pair: string, before: ColumnMap = {}): ColumnMap => {
  const example = 'a field, =, and its column, such as followers=follower_count';
  const { field, text } = readField(pair, leadFields, example);
  if (before[field] !== undefined) throw new LeadInputError(`${field} has a column already.`);
  return { ...before, [field]: text };
};

/** Adds one `field=value` to those before it. Throws LeadInputError. */
export const readDefault = (pair: string, before: LeadDefaults = {}): LeadDefaults => {
  const example = 'a field, =, and the value of rows without it, such as following=0';
  const { field, text } = readField(pair, defaultableFields, example);
  if (before[field] !== undefined) throw new LeadInputError(`${field} has a default already.`);
  const checked = checkLead({ ...anybody, username: 'anybody', [field]: text });
  if ('problem' in checked) throw new LeadInputError(checked.problem);
  return { ...before, [field]: checked.lead[field] };
};

/** Throws LeadInputError. */
export const readDelimiter = (text: string): string => {
  if (text === 'tab' || text === '\\t') return '\t';
  if (text.length !== 1 || /["\r\n]/.test(text))
    throw new LeadInputError('Write one character, such as ";", or tab.');
  return text;
};

/** Reads `100` or `2.5%`. Throws LeadInputError. */
export const readRejectedLimit = (text: string): RejectedLimit => {
  const [, number = '', sign] = /^(\d{1,9}(?:\.\d{1,6})?)(%?)$/.exec(text) ?? [];
  const value = Number(number);
  if (sign === '%' && value <= 100) return { percent: value };
  if (sign === '' && Number.isInteger(value)) return { rows: value };
  throw new LeadInputError('Write a number of rows, such as 100, or a share of them, such as 2.5%.');
};
