import { toSqlValue, type Given, type SqlValue } from './statement.ts';

/** One column of a table, whose values become `Value`. */
export interface Column<Value> {
  /** Absent: the field's name in snake case. */
  name?: string;
  /** The type of a parameter. Absent: text. */
  type?: 'bigint';
  /** Converts the engine's value. Absent: it is taken as it is. */
  read?: (value: never) => Value;
}

type Columns = Record<string, Column<unknown>>;

export type RowOf<Declared extends Columns> = {
  -readonly [Field in keyof Declared]: Declared[Field] extends Column<infer Value> ? Value : never;
};

export const text = <Value extends string = string>(): Column<Value> => ({});
/** A 64-bit integer that stays a bigint: money. */
export const int64 = (): Column<bigint> => ({ type: 'bigint' });
/** An integer that fits a number: counts, durations. */
export const integer = (): Column<number> => ({ type: 'bigint', read: (value: bigint) => Number(value) });
/** Epoch milliseconds. */
export const time = (): Column<number> => integer();
export const flag = (): Column<boolean> => ({ type: 'bigint', read: (value: bigint) => value !== 0n });
export const json = <Value>(): Column<Value> => ({ read: (value: string): Value => JSON.parse(value) });

export const orNull = <Value>({ read, ...column }: Column<Value>): Column<Value | null> => ({
  ...column,
  read: read && ((value: never): Value | null => (value === null ? null : read(value))),
});

export const named = <Value>(name: string, column: Column<Value>): Column<Value> => ({ ...column, name });

const toSnakeCase = (field: string): string =>
  field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Declares the columns that are read together. Their order is that of the fields. */
export const columns = <Declared extends Columns>(declared: Declared) => {
  const all = Object.entries(declared).map(([field, { name = toSnakeCase(field), type, read }]) => ({
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    field: field as keyof Declared & string,
    name,
    type,
    read,
  }));
  // A copy of this has its final shape at once, which makes reading faster.
  const blank: Record<string, unknown> = Object.fromEntries(all.map(({ field }) => [field, null]));
  return {
    all,
    /** The list for `select` and `returning`, each name after `prefix`. */
    list: (prefix = ''): string => all.map(({ name }) => prefix + name).join(', '),
    /** The list for `givenRows`. */
    typed: (): string => all.map(({ name, type = '' }) => `${name} ${type}`.trimEnd()).join(', '),
    /** The list of their parameters, from $1. */
    parameters: (): string => all.map((_, index) => `$${index + 1}`).join(', '),
    /** The same with their types, for a place that gives them none. */
    casts: (): string => all.map(({ type = 'text' }, index) => `cast($${index + 1} as ${type})`).join(', '),
    /** The values of a record for these parameters. */
    values: (record: RowOf<Declared>): SqlValue[] =>
      // The record has these fields, which are values of a column.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      all.map(({ field }) => toSqlValue((record as Record<string, Given>)[field])),
    read: (row: Record<string, never>): RowOf<Declared> => {
      const values = { ...blank };
      for (const { field, name, read } of all)
        values[field] = read === undefined ? row[name] : read(row[name] as never);
      // The fields and conversions are those of the type.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return values as RowOf<Declared>;
    },
  };
};

/** Columns with a list of their names, and the reader of their rows. */
export type ColumnList<Row> = Pick<ReturnType<typeof columns>, 'list'> & {
  read: (row: Record<string, never>) => Row;
};

export const pick = <Declared extends Columns, Field extends keyof Declared>(
  declared: Declared,
  ...fields: Field[]
): Pick<Declared, Field> =>
  // The entries are those of the fields.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.fromEntries(fields.map((field) => [field, declared[field]])) as Pick<Declared, Field>;

export const omit = <Declared extends Columns, Field extends keyof Declared & string>(
  declared: Declared,
  ...fields: Field[]
): Omit<Declared, Field> => {
  const left = { ...declared };
  for (const field of fields) delete left[field];
  return left;
};
