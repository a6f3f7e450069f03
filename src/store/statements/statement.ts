import type { SqlValue } from '../rows.ts';

/** What differs between the engines in the words of a statement that both run. */
export interface Dialect {
  kind: 'sqlite' | 'postgres';
  /** Whether a column is one of the strings of a JSON array parameter. */
  isOneOf(column: string, parameter: string): string;
  /** The strings of a JSON array parameter as a table `given (value, position)`. */
  givenStrings(parameter: string): string;
  /** Ends a select whose rows are about to be changed: locks them. SQLite has one writer at a time anyway. */
  lockRows: string;
  /** The same, and leaves out rows that somebody else has locked. */
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

/** For statements that always give a row. */
export const onlyOf =
  <Row, Output>(map: (row: Row) => Output) =>
  (rows: Row[]): Output => {
    if (rows[0] === undefined) throw new Error('the statement gave no row');
    return map(rows[0]);
  };

export const eachOf =
  <Row, Output>(map: (row: Row) => Output) =>
  (rows: Row[]): Output[] =>
    rows.map(map);
