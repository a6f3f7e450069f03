import { leadFields, noFields, type LeadField } from '../lead-fields.ts';
import { fieldNamed, isSameColumn, shownColumn } from './column-names.ts';
import { LeadInputError, type ColumnMap } from './input-options.ts';

export interface MappedColumns {
  /** The column of each field; -1 for none. */
  indexes: Record<LeadField, number>;
  unused: string[];
}

const maxListed = 40;

const listed = (names: readonly string[]): string => {
  const shown = names.slice(0, maxListed).map((name) => shownColumn(name).slice(0, 60));
  return names.length > maxListed
    ? `${shown.join(', ')} and ${names.length - maxListed} more`
    : shown.join(', ');
};

export const fieldNotFound = (
  file: string,
  field: LeadField,
  names: readonly string[],
  hint = '',
): LeadInputError =>
  new LeadInputError(
    `${file} has no column for ${field}. Its columns: ${listed(names)}. Name the right one: column ${field}=NAME.${hint}`,
  );

interface Column {
  name: string;
  index: number;
}

/** Returns the index of the one candidate; -1 for none. Throws LeadInputError if there are several. */
const oneOf = (candidates: readonly Column[], file: string, field: LeadField): number => {
  const [first] = candidates;
  if (first === undefined) return -1;
  if (candidates.length === 1) return first.index;
  const shown = candidates.map(({ name, index }) => `${name} (#${index + 1})`);
  throw new LeadInputError(
    `${file} has more than one column for ${field}: ${listed(shown)}. Choose one: column ${field}=#${first.index + 1}.`,
  );
};

/**
 * Assigns one of the columns `names` to each field: the one in `columns`, else the one with the field's name, else one
 * with a known synonym. Throws LeadInputError, ending in `missingHint`, if username or followers has no column, and if
 * a field has two.
 */
export const mapColumns = (
  names: readonly string[],
  { file, columns = {}, missingHint }: { file: string; columns?: ColumnMap; missingHint?: string },
): MappedColumns => {
  const indexes = Object.fromEntries(leadFields.map((field) => [field, -1])) as MappedColumns['indexes'];
  for (const field of leadFields) {
    const column = columns[field] ?? '';
    if (column !== '') indexes[field] = findColumn(names, { file, field, column });
  }
  const taken = new Set(Object.values(indexes));
  const named = names.flatMap((name, index) => {
    const found = taken.has(index) ? null : fieldNamed(name);
    return found === null ? [] : [{ name, index, ...found }];
  });
  for (const field of leadFields.filter((each) => columns[each] === undefined)) {
    const candidates = named.filter((column) => column.field === field);
    const own = candidates.filter(({ isOwnName }) => isOwnName);
    indexes[field] = oneOf(own.length > 0 ? own : candidates, file, field);
  }
  for (const field of ['username', 'followers'] as const)
    if (indexes[field] === -1) throw fieldNotFound(file, field, names, missingHint);
  const used = new Set(Object.values(indexes));
  return { indexes, unused: names.filter((_, index) => !used.has(index)) };
};

const findColumn = (
  names: readonly string[],
  { file, field, column }: { file: string; field: LeadField; column: string },
): number => {
  const same = names.map((name, index) => ({ name, index })).filter(({ name }) => isSameColumn(name, column));
  const exact = same.filter(({ name }) => name === column);
  const found = oneOf(exact.length > 0 ? exact : same, file, field);
  if (found !== -1) return found;
  const position = /^#([1-9][0-9]{0,4})$/.exec(column)?.[1];
  if (position !== undefined && Number(position) <= names.length) return Number(position) - 1;
  const hint = /^[1-9][0-9]{0,4}$/.test(column) ? ` To name a column by its position, write #${column}.` : '';
  throw new LeadInputError(
    `${file} has no column ${column} (for ${field}). Its columns: ${listed(names)}.${hint}`,
  );
};

/** Returns the fields of a row, named as in the contract; `undefined` for fields without a column. */
export const fieldsOf = (
  cells: readonly unknown[],
  indexes: MappedColumns['indexes'],
): Record<LeadField, unknown> => {
  const fields = { ...noFields };
  for (const field of leadFields) fields[field] = indexes[field] === -1 ? undefined : cells[indexes[field]];
  return fields;
};
