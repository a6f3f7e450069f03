import type { DatabaseSync } from 'node:sqlite';
import type { SqlValue } from '../rows.ts';
import type { Dialect, Statement } from '../statements/statement.ts';

export const sqliteDialect: Dialect = {
  kind: 'sqlite',
  isOneOf: (column, parameter) => `${column} in (select value from json_each(${parameter}))`,
  givenStrings: (parameter) => `(select value, key as position from json_each(${parameter})) as given`,
  lockRows: '',
  lockFreeRows: '',
};

/** A prepared statement of this engine; parameters are `$1`, `$2`, ..., integers come back as bigint. */
export interface Prepared<Row> {
  all(...values: SqlValue[]): Row[];
  get(...values: SqlValue[]): Row | undefined;
  run(...values: SqlValue[]): void;
}

export const prepareSql = <Row>(database: DatabaseSync, text: string): Prepared<Row> => {
  const statement = database.prepare(text.replaceAll(/\$(\d+)/g, '?$1'));
  statement.setReadBigInts(true);
  const all = (...values: SqlValue[]): Row[] =>
    // The schema is our own, and its tables are strict about types.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    statement.all(...values) as Row[];
  return {
    all,
    get: (...values) => all(...values)[0],
    run: (...values) => {
      statement.run(...values);
    },
  };
};

/** Prepares a statement that both engines share. */
export const prepare = <Input, Row, Output>(
  database: DatabaseSync,
  statement: Statement<Input, Row, Output>,
): ((input: Input) => Output) => {
  const prepared = prepareSql<Row>(database, statement.text(sqliteDialect));
  return (input) => statement.read(prepared.all(...statement.values(input)));
};
