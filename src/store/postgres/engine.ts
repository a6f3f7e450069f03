import { DatabaseError, type PoolClient } from 'pg';
import { createFairShareLimiter } from '../../kit/fair-share-limiter.ts';
import { sha256 } from '../../kit/ids.ts';
import type { Engine, Steps } from '../command.ts';
import type { Dialect, JobAnnouncement, SqlValue, Statement } from '../statement.ts';
import { StoreError } from '../store-error.ts';
import type { OnGroup } from '../store.ts';
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

type AnyStatement = Statement<never, unknown>;

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
  name?: string;
  text: string;
}

type Connection = Pick<Pool | PoolClient, 'query'>;

/** `isPooled`: the statements have no names, because each may meet another connection of the server. */
const createQueries = (isPooled: boolean) => {
  const prepared = new WeakMap<AnyStatement, Prepared>();
  const prepare = (statement: AnyStatement): Prepared => {
    const text = typeof statement.text === 'string' ? statement.text : statement.text(postgresDialect);
    const made = isPooled ? { text } : { name: sha256(text).slice(0, 32), text };
    prepared.set(statement, made);
    return made;
  };
  const query = async <Row>(
    connection: Connection,
    statement: AnyStatement,
    values: (SqlValue | SqlValue[])[],
  ): Promise<Row[]> => {
    const { rows } = await answered(
      connection.query({ ...(prepared.get(statement) ?? prepare(statement)), values }),
    );
    return rows;
  };
  /** Runs a statement that gathers. Resolves with the rows of each command. */
  const runGroup = async (
    connection: Connection,
    statement: AnyStatement,
    group: SqlValue[][],
  ): Promise<unknown[][]> => {
    const columns = group[0]?.map((_, column) => group.map((values) => values[column] ?? null)) ?? [];
    const answers = group.map((): unknown[] => []);
    for (const row of await query<{ position: bigint }>(connection, statement, columns))
      answers[Number(row.position) - 1]?.push(row);
    return answers;
  };
  return { query, runGroup };
};

/**
 * Gives the transactions that lock an account's row at most half of the connections, and those of one account a quarter
 * of that half: they wait for each other in any case. A wait takes as long as one for a connection may.
 */
const createAccountTurns = (
  { options: { max, connectionTimeoutMillis: longestWaitMs } }: Pool,
  maxWaiting: number,
): (<Output>(owner: string, work: () => Promise<Output>) => Promise<Output>) => {
  const turns = createFairShareLimiter({
    // With one, an account whose row is locked would hold up all others.
    total: Math.max(2, Math.floor(max / 2)),
    queue: {
      total: maxWaiting,
      ...(longestWaitMs === undefined ? {} : { longestWaitMs }),
      refusal: () =>
        new StoreError('overloaded', 'too many changes of one account wait; this one was not tried'),
    },
  });
  const { signal } = new AbortController();
  return (owner, work) => turns.run({ owner }, { signal }, work);
};

export const createEngine = (
  pool: Pool,
  options: {
    announcement: JobAnnouncement;
    isPooled: boolean;
    /** Maximum number of waiting transactions that lock an account's row; a quarter of it for one account. */
    maxWaiting: number;
    onGroup?: OnGroup | undefined;
  },
) => {
  const { announcement, isPooled, maxWaiting, onGroup } = options;
  const { query, runGroup } = createQueries(isPooled);
  const inTurn = createAccountTurns(pool, maxWaiting);
  const gathered = createGatherer({
    runGroup: (statement, group) => {
      onGroup?.(group.length);
      return runGroup(pool, statement, group);
    },
    runAlone: (statement, { values, accountId }) =>
      inTurn(accountId, () =>
        inTransaction(pool, 'write', (client) => runGroup(client, statement, [values])),
      ).then(([rows = []]) => rows),
  });
  const within = <Output>(steps: Steps<Output>, mode: keyof typeof beginText): Promise<Output> =>
    inTransaction(pool, mode, (client) => {
      const engine: Engine = {
        rows: async (statement, values, accountId) =>
          accountId === undefined
            ? query(client, statement, values)
            : (await runGroup(client, statement, [values]))[0],
        transaction: (inner) => drive(inner, engine),
        announcement,
      };
      return drive(steps, engine);
    });
  const engine: Engine = {
    rows: (statement, values, accountId) =>
      accountId === undefined ? query(pool, statement, values) : gathered(statement, { values, accountId }),
    transaction: (steps, accountId) =>
      accountId === undefined ? within(steps, 'write') : inTurn(accountId, () => within(steps, 'write')),
    announcement,
  };
  return {
    /** Runs the steps of a command. Each step takes a connection of the pool. */
    run: <Output>(steps: Steps<Output>): Promise<Output> => drive(steps, engine),
    /** Runs reads on one snapshot of the data. */
    runOnSnapshot: <Output>(steps: Steps<Output>): Promise<Output> => within(steps, 'snapshot'),
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
  write: `begin isolation level read committed; set local lock_timeout = '1h'`,
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
    isBroken = !(await rolledBack(client)) || isStandby(error);
    throw error;
  } finally {
    client.release(isBroken);
  }
};

/** After a failover it would stay a connection to the standby, or to the former primary. */
const isStandby = (error: unknown): boolean => error instanceof DatabaseError && error.code === '25006';

/** False if the connection is broken; then the server rolls back by itself. */
const rolledBack = async (client: PoolClient): Promise<boolean> => {
  try {
    await client.query('rollback');
    return true;
  } catch {
    return false;
  }
};

interface Gathered {
  values: SqlValue[];
  /** The account whose row it locks. */
  accountId: string;
}

type Call = Gathered & Pick<PromiseWithResolvers<unknown[]>, 'resolve' | 'reject'>;

/** Limits how long the first command of a statement waits for the last. */
const maxGroup = 128;
/** Limits the memory of one statement. A group with this much text takes no further command. */
const maxGroupLength = 4_000_000;

/** The server or the connection ended (also as a pooler tells it), so the group may be committed. */
const isOutcomeUnknown = (code: string | undefined): boolean => /^(?:08|57P|58)/.test(code ?? '');
const lockNotAvailable = '55P03';

/**
 * Gathers the commands that wait for the same statement, while an earlier group of it runs. Each group is one statement
 * and one commit. If the server refuses a group, each of its commands runs again alone, so that only the one at fault fails,
 * or waits for a locked row.
 */
export const createGatherer = (runners: {
  /** Runs a statement that gathers once for several commands. Resolves with the rows of each. */
  runGroup(statement: AnyStatement, group: SqlValue[][]): Promise<unknown[][]>;
  /** Runs it for one command, which waits as long as it must for locked rows. */
  runAlone(statement: AnyStatement, command: Gathered): Promise<unknown[]>;
}): ((statement: AnyStatement, command: Gathered) => Promise<unknown[]>) => {
  const { runGroup, runAlone } = runners;
  const waiting = new Map<AnyStatement, Call[]>();

  const answer = async (statement: AnyStatement, calls: Call[]): Promise<void> => {
    try {
      const rows = await runGroup(
        statement,
        calls.map(({ values }) => values),
      );
      for (const [index, { resolve }] of calls.entries()) resolve(rows[index] ?? []);
    } catch (error) {
      const runsAgain =
        error instanceof DatabaseError &&
        !isOutcomeUnknown(error.code) &&
        (calls.length > 1 || error.code === lockNotAvailable);
      for (const call of calls)
        if (runsAgain) runAlone(statement, call).then(call.resolve, call.reject);
        else call.reject(error);
    }
  };
  const answerAll = async (statement: AnyStatement, calls: Call[]): Promise<void> => {
    while (calls.length > 0) await answer(statement, calls.splice(0, groupSize(calls)));
    waiting.delete(statement);
  };

  return (statement, command) => {
    const { promise, ...settle } = Promise.withResolvers<unknown[]>();
    const calls = waiting.get(statement) ?? [];
    calls.push({ ...settle, ...command });
    if (!waiting.has(statement)) {
      waiting.set(statement, calls);
      // Commands that begin at the same moment, such as those that an earlier group has answered, go together.
      process.nextTick(() => void answerAll(statement, calls));
    }
    return promise;
  };
};

/** Counts the first calls that fit one statement: one or more. */
const groupSize = (calls: Call[]): number => {
  let length = 0;
  const isFull = ({ values }: Call, index: number): boolean => {
    if (index >= maxGroup || length >= maxGroupLength) return true;
    for (const value of values) if (typeof value === 'string') length += value.length;
    return false;
  };
  const full = calls.findIndex(isFull);
  return full === -1 ? calls.length : full;
};
