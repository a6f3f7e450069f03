import type { SqlValue } from '../rows.ts';

/** The differences between the engines in a shared statement. */
export interface Dialect {
  kind: 'sqlite' | 'postgres';
  /** True if a column is one of the strings of a JSON array parameter. */
  isOneOf(column: string, parameter: string): string;
  /** The strings of a JSON array parameter as a table `given (value, position)`. */
  givenStrings(parameter: string): string;
  /** Ends a select and locks its rows. Empty for SQLite, which has one writer at a time. */
  lockRows: string;
  /** As `lockRows`, but skips rows that another transaction has locked. */
  lockFreeRows: string;
}

/** One SQL statement that both engines run; parameters are `$1`, `$2`, ... */
export interface Statement<Input, Row, Output> {
  /** Unique; also its name as a prepared statement. */
  name: string;
  text(dialect: Dialect): string;
  values(input: Input): SqlValue[];
  read(rows: Row[]): Output;
}

export const firstOf =
  <Row, Output>(map: (row: Row) => Output) =>
  (rows: Row[]): Output | null =>
    rows[0] === undefined ? null : map(rows[0]);

/** Maps the one row of a statement that always returns a row. */
export const onlyOf =
  <Row, Output>(map: (row: Row) => Output) =>
  (rows: Row[]): Output => {
    if (rows[0] === undefined) throw new Error('the statement returned no row');
    return map(rows[0]);
  };

export const eachOf =
  <Row, Output>(map: (row: Row) => Output) =>
  (rows: Row[]): Output[] =>
    rows.map(map);
