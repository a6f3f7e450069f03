import { DatabaseError, type PoolClient } from 'pg';
import type { Pool } from './connection.ts';
import type { SqlValue } from '../rows.ts';
import { StoreError } from '../store-error.ts';
import type { Dialect, Statement } from '../statements/statement.ts';

/** A prepared statement: the server keeps its plan under the name. One name has one text. */
export interface NamedQuery {
  name: string;
  text: string;
}

/** Runs statements on the pool, or on one connection inside a transaction. */
export interface Sql {
  all<Row>(query: NamedQuery, values: readonly unknown[]): Promise<Row[]>;
  get<Row>(query: NamedQuery, values: readonly unknown[]): Promise<Row | undefined>;
}

/** Resolves with the server's answer. Rejects with StoreError `unavailable` if the server does not answer. */
export const answered = async <T>(asking: Promise<T>): Promise<T> => {
  try {
    return await asking;
  } catch (cause) {
    if (cause instanceof DatabaseError) throw cause;
    throw new StoreError('unavailable', `PostgreSQL does not answer: ${String(cause)}`, { cause });
  }
};

export const sqlOn = (connection: Pick<Pool | PoolClient, 'query'>): Sql => {
  const all = async <Row>({ name, text }: NamedQuery, values: readonly unknown[]): Promise<Row[]> => {
    const { rows } = await answered(connection.query({ name, text, values: [...values] }));
    return rows;
  };
  return {
    all,
    get: async <Row>(query: NamedQuery, values: readonly unknown[]) => (await all<Row>(query, values))[0],
  };
};

export const postgresDialect: Dialect = {
  kind: 'postgres',
  isOneOf: (column, parameter) =>
    `${column} = any(array(select json_array_elements_text(cast(${parameter} as json))))`,
  givenStrings: (parameter) =>
    `json_array_elements_text(cast(${parameter} as json)) with ordinality as given (value, position)`,
  lockRows: 'for no key update',
  lockFreeRows: 'for no key update skip locked',
};

/** Prepares a statement that both engines share. */
export const prepare = <Input, Row, Output>(
  statement: Statement<Input, Row, Output>,
): ((sql: Sql, input: Input) => Promise<Output>) => {
  const query = { name: statement.name, text: statement.text(postgresDialect) };
  return async (sql, input) => {
    const values: SqlValue[] = statement.values(input);
    return statement.read(await sql.all<Row>(query, values));
  };
};

const beginText = {
  write: 'begin isolation level read committed',
  snapshot: 'begin isolation level repeatable read read only',
};

/** Runs `work` in one transaction, which is rolled back if it throws. */
export const inTransaction = async <T>(
  pool: Pool,
  work: (sql: Sql) => Promise<T>,
  mode: keyof typeof beginText = 'write',
): Promise<T> => {
  const client = await answered(pool.connect());
  let isBroken = false;
  try {
    await answered(client.query(beginText[mode]));
    const result = await work(sqlOn(client));
    await answered(client.query('commit'));
    return result;
  } catch (error) {
    isBroken = !(await rolledBack(client));
    throw error;
  } finally {
    client.release(isBroken);
  }
};

/** False if the connection is broken; then the server rolls back by itself. */
const rolledBack = async (client: PoolClient): Promise<boolean> => {
  try {
    await client.query('rollback');
    return true;
  } catch {
    return false;
  }
};

const uniqueViolation = '23505';

export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === uniqueViolation;
