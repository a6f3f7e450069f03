import { InvalidArgumentError } from 'commander';
import type { ColumnMap, InputFormat } from '../../leads/import/input-options.ts';
import { checkLead } from '../../leads/query/check-lead.ts';
import { defaultableFields, leadFields, type LeadDefaults } from '../../leads/lead-fields.ts';
import type { RejectedLimit } from './watched-input.ts';

export const inputFormats = ['csv', 'jsonl', 'parquet'] as const satisfies readonly InputFormat[];

/** Adds one `field=column` to those before it. Throws commander's InvalidArgumentError. */
export const readColumn = (text: string, before: ColumnMap = {}): ColumnMap => {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0)).trim();
  const field = leadFields.find((known) => known === name);
  if (field === undefined)
    throw new InvalidArgumentError(
      `Write a field, =, and the column it is read from, such as followers=follower_count. The fields: ${leadFields.join(', ')}.`,
    );
  if (before[field] !== undefined) throw new InvalidArgumentError(`${field} has a column already.`);
  return { ...before, [field]: text.slice(at + 1) };
};

/** Adds one `field=value` to those before it. Throws InvalidArgumentError. */
export const readDefault = (text: string, before: LeadDefaults = {}): LeadDefaults => {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0)).trim();
  const field = defaultableFields.find((known) => known === name);
  if (field === undefined)
    throw new InvalidArgumentError(
      `Write a field, =, and the value of rows without it, such as following=0. The fields: ${defaultableFields.join(', ')}.`,
    );
  if (before[field] !== undefined) throw new InvalidArgumentError(`${field} has a default already.`);
  const checked = checkLead({
    username: 'anybody',
    full_name: '',
    followers: 0,
    following: 0,
    is_verified: false,
    is_business: false,
    [field]: text.slice(at + 1),
  });
  if ('problem' in checked) throw new InvalidArgumentError(checked.problem);
  return { ...before, [field]: checked.lead[field] };
};

/** Throws InvalidArgumentError. */
export const readDelimiter = (text: string): string => {
  if (text === 'tab' || text === '\\t') return '\t';
  if (text.length !== 1 || /["\r\n]/.test(text))
    throw new InvalidArgumentError('Write one character, such as ";", or tab.');
  return text;
};

/** Reads `100` or `2.5%`. Throws InvalidArgumentError. */
export const readRejectedLimit = (text: string): RejectedLimit => {
  const [, number = '', sign] = /^(\d{1,9}(?:\.\d{1,6})?)(%?)$/.exec(text) ?? [];
  const value = Number(number);
  if (sign === '%' && value <= 100) return { share: value / 100 };
  if (sign === '' && Number.isInteger(value)) return { rows: value };
  throw new InvalidArgumentError('Write a number of rows, such as 100, or a share of them, such as 2.5%.');
};
