import { leadFields, noFields, type LeadField } from '../lead-fields.ts';
import { columnKey, fieldNamed, isSameColumn, shownColumn } from './column-names.ts';
import type { ColumnMap } from './input-options.ts';
import { LeadInputError } from './lead-input-error.ts';

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

/** `columns` are the candidates for `field`, with their indices from 0. */
const fieldFoundTwice = (
  file: string,
  { field, columns }: { field: LeadField; columns: readonly { name: string; index: number }[] },
): LeadInputError => {
  const names = columns.map(({ name }) => name);
  const isTold = new Set(names.map(columnKey)).size === names.length;
  const shown = isTold ? names : columns.map(({ name, index }) => `${name} (#${index + 1})`);
  const choice = isTold ? 'NAME' : `#${(columns[0]?.index ?? 0) + 1}`;
  return new LeadInputError(
    `${file} has more than one column for ${field}: ${listed(shown)}. Choose one: column ${field}=${choice}.`,
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
  const chosen = new Map<LeadField, number>();
  for (const field of leadFields) {
    const column = columns[field];
    if (column !== undefined)
      chosen.set(field, column === '' ? -1 : findColumn(names, { file, field, column }));
  }
  const taken = new Set(chosen.values());
  const found = new Map<LeadField, { own: number[]; other: number[] }>();
  for (const [index, name] of names.entries()) {
    const named = fieldNamed(name);
    if (named === null || taken.has(index) || chosen.has(named.field)) continue;
    const places = found.get(named.field) ?? { own: [], other: [] };
    (named.isOwnName ? places.own : places.other).push(index);
    found.set(named.field, places);
  }
  for (const [field, { own, other }] of found) {
    const best = own.length > 0 ? own : other;
    const [first = -1, second] = best;
    if (second !== undefined)
      throw fieldFoundTwice(file, {
        field,
        columns: best.map((index) => ({ name: names[index] ?? '', index })),
      });
    chosen.set(field, first);
  }
  for (const field of ['username', 'followers'] as const)
    if ((chosen.get(field) ?? -1) === -1) throw fieldNotFound(file, field, names, missingHint);
  const used = new Set(chosen.values());
  return {
    indexes: Object.fromEntries(
      leadFields.map((field) => [field, chosen.get(field) ?? -1]),
    ) as MappedColumns['indexes'],
    unused: names.filter((_, index) => !used.has(index)),
  };
};

const findColumn = (
  names: readonly string[],
  { file, field, column }: { file: string; field: LeadField; column: string },
): number => {
  const exact = names.flatMap((name, index) => (name === column ? [index] : []));
  const same =
    exact.length > 0 ? exact : names.flatMap((name, index) => (isSameColumn(name, column) ? [index] : []));
  const [first, second] = same;
  if (second !== undefined)
    throw new LeadInputError(
      `${file} has ${same.length} columns named ${column}; choose one by its position: column ${field}=#${(first ?? 0) + 1}.`,
    );
  if (first !== undefined) return first;
  const place = /^#([1-9][0-9]{0,4})$/.exec(column)?.[1];
  if (place !== undefined && Number(place) <= names.length) return Number(place) - 1;
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
