import { DatabaseError, type PoolClient } from 'pg';
import { sha256 } from '../../kit/ids.ts';
import type { Engine, Steps } from '../command.ts';
import type { Dialect, JobAnnouncement, Statement } from '../statement.ts';
import { StoreError } from '../store-error.ts';
import type { Pool } from './connection.ts';

export const postgresDialect: Dialect = {
  kind: 'postgres',
  isOneOf: (column, parameter) =>
    `${column} = any(array(select json_array_elements_text(cast(${parameter} as json))))`,
  givenStrings: (parameter) =>
    `json_array_elements_text(cast(${parameter} as json)) with ordinality as given (value, position)`,
  lockRows: 'for no key update',
  lockFreeRows: 'for no key update skip locked',
};

/** Resolves with the server's answer. Rejects with StoreError `unavailable` if the server does not answer. */
export const answered = async <T>(asking: Promise<T>): Promise<T> => {
  try {
    return await asking;
  } catch (cause) {
    if (cause instanceof DatabaseError) throw cause;
    throw new StoreError('unavailable', `PostgreSQL does not answer: ${String(cause)}`, { cause });
  }
};

/** A prepared statement: the server keeps its plan under the name, which is a digest of the text. */
interface Prepared {
  name: string;
  text: string;
}

const prepared = new WeakMap<Statement<never, unknown>, Prepared>();

const prepare = (statement: Statement<never, unknown>): Prepared => {
  const text = typeof statement.text === 'string' ? statement.text : statement.text(postgresDialect);
  const made = { name: sha256(text).slice(0, 32), text };
  prepared.set(statement, made);
  return made;
};

/** Runs the steps of commands. */
export interface PostgresEngine {
  /** Each step takes a connection of the pool. */
  run<Output>(steps: Steps<Output>): Promise<Output>;
  /** Runs reads on one snapshot of the data. */
  runOnSnapshot<Output>(steps: Steps<Output>): Promise<Output>;
}

export const createEngine = (pool: Pool, announcement: JobAnnouncement): PostgresEngine => {
  const rowsOn =
    (connection: Pick<Pool | PoolClient, 'query'>): Engine['rows'] =>
    async (statement, values) => {
      const query = prepared.get(statement) ?? prepare(statement);
      const { rows } = await answered(connection.query({ ...query, values }));
      return rows;
    };
  const within = <Output>(steps: Steps<Output>, mode: keyof typeof beginText): Promise<Output> =>
    inTransaction(pool, mode, (client) => {
      const engine: Engine = {
        rows: rowsOn(client),
        transaction: (inner) => drive(inner, engine),
        announcement,
      };
      return drive(steps, engine);
    });
  const engine: Engine = {
    rows: rowsOn(pool),
    transaction: (steps) => within(steps, 'write'),
    announcement,
  };
  return {
    run: (steps) => drive(steps, engine),
    runOnSnapshot: (steps) => within(steps, 'snapshot'),
  };
};

const drive = async <Output>(steps: Steps<Output>, engine: Engine): Promise<Output> => {
  let next = steps.next();
  while (next.done !== true) {
    const step = next.value;
    let answer: unknown;
    try {
      answer = await step(engine);
    } catch (error) {
      next = steps.throw(error);
      continue;
    }
    next = steps.next(answer);
  }
  return next.value;
};

const beginText = {
  write: 'begin isolation level read committed',
  snapshot: 'begin isolation level repeatable read read only',
};

/** Runs `work` in one transaction, which is rolled back if it throws. */
const inTransaction = async <T>(
  pool: Pool,
  mode: keyof typeof beginText,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> => {
  const client = await answered(pool.connect());
  let isBroken = false;
  try {
    await answered(client.query(beginText[mode]));
    const result = await work(client);
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
