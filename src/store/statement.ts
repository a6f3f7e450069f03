/** A value of both engines. Integers are always read as bigint. */
export type SqlValue = string | number | bigint | null;

export type EngineKind = 'sqlite' | 'postgres';

/** The differences between the engines in a shared statement. */
export interface Dialect {
  kind: EngineKind;
  /** True if a column is one of the strings of a JSON array parameter. */
  isOneOf(column: string, parameter: string): string;
  /** The strings of a JSON array parameter as a table `given (value, position)`. */
  givenStrings(parameter: string): string;
  /** Ends a select and locks its rows. Empty for SQLite, which has one writer at a time. */
  lockRows: string;
  /** As `lockRows`, but skips rows that another transaction has locked. */
  lockFreeRows: string;
}

/** The PostgreSQL channel on which a process announces queued jobs, and its own name there. */
export interface JobAnnouncement {
  channel: string;
  sender: string;
}

/** One SQL statement with the parameters `$1`, `$2`, ... */
export interface Statement<Input, Output> {
  /** A function if the engines differ. */
  text: string | ((dialect: Dialect) => string);
  values: (input: Input, announcement: JobAnnouncement) => SqlValue[];
  read: (rows: never[]) => Output;
  /**
   * Set if PostgreSQL runs it once for all commands of the process that wait for it. Its text then begins with `givenRows`,
   * and each row that it returns has the `position` of its command. It returns the account whose row a command locks.
   */
  gathers?: (input: Input) => string;
  /** Set if SQLite does not need it, such as a lock. SQLite then runs nothing and answers without rows. */
  only?: 'postgres';
}

/** A statement without `values` has no parameters. One without `read` drops its rows. */
export type Declared<Input, Output> = Omit<Statement<Input, Output>, 'values' | 'read'> &
  Partial<Pick<Statement<Input, Output>, 'values' | 'read'>>;

/** Declares a statement that is a step of commands. */
export const statement = <Input, Output = void>(
  declared: Declared<Input, Output>,
): Statement<Input, Output> =>
  // Without `read`, nothing makes `Output` another type than its default.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  ({ values: () => [], read: () => undefined, ...declared }) as Statement<Input, Output>;

/**
 * A group does not wait longer for a locked row, so that one account does not hold up all others. In a transaction, which
 * has a limit of its own, commands wait as long as any statement.
 */
const lockLimit = `set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '1s'), true)`;

/**
 * PostgreSQL's table `given` of the values of all commands, for a statement that gathers. `columns` names the values, such
 * as `id, amount bigint`; a column without a type is text.
 */
export const givenRows = (columns: string): string => {
  const parts = columns.split(/,\s*/).map((column) => column.split(' '));
  const arrays = parts.map(([, type = 'text'], index) => `cast($${index + 1} as ${type}[])`);
  const names = [...parts.map(([name]) => name), 'position'];
  return `given as (
    select given.* from (select ${lockLimit}) as limits,
      unnest(${arrays.join(', ')}) with ordinality as given (${names.join(', ')})
  )`;
};

/** What a member of an input may be. A list becomes JSON text. */
export type Given = SqlValue | boolean | readonly string[] | undefined;

/** The engines refuse values of other types than these. */
export const toSqlValue = (value: Given): SqlValue => {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return isList(value) ? JSON.stringify(value) : (value ?? null);
};

const isList = (value: Given): value is readonly string[] => Array.isArray(value);

type GivenField<Input> = {
  [Field in keyof Input & string]-?: Input[Field] extends Given ? Field : never;
}[keyof Input & string];

/** Makes the values of a statement of these members of its input. */
export const valuesOf =
  <Input>(...fields: GivenField<Input>[]) =>
  (input: Input): SqlValue[] =>
    // The type of `fields` names no others.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    fields.map((field) => toSqlValue(input[field] as Given));

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

export const firstRow =
  <Row>() =>
  (rows: Row[]): Row | null =>
    rows[0] ?? null;

export const countRows = (rows: unknown[]): number => rows.length;
export const hasRows = (rows: unknown[]): boolean => rows.length > 0;
