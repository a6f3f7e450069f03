import type { ColumnList } from './columns.ts';
import {
  countRows,
  firstOf,
  statement,
  valuesOf,
  type Declared,
  type EngineKind,
  type JobAnnouncement,
  type SqlValue,
  type Statement,
} from './statement.ts';

/** Runs the steps of a command. SQLite answers at once, PostgreSQL with a promise. */
export interface Engine {
  /** `accountId`: the account of a command that gathers. */
  rows(statement: Statement<never, unknown>, values: SqlValue[], accountId?: string): unknown;
  /**
   * Runs the steps in one transaction. On SQLite every command is in one anyway. With `accountId` it waits for its turn
   * among the transactions of that account, and takes no connection meanwhile.
   */
  transaction(steps: Steps<unknown>, accountId?: string): unknown;
  announcement: JobAnnouncement;
}

type Step = (engine: Engine) => unknown;

/** The statements of a command, one after another; each may depend on the answers of the earlier ones. */
export type Steps<Output> = Generator<Step, Output, unknown>;

export function* run<Input, Output>(statement: Statement<Input, Output>, input: Input): Steps<Output> {
  const rows = yield (engine) =>
    engine.rows(statement, statement.values(input, engine.announcement), statement.gathers?.(input));
  // The schema is our own, and its tables are strict about types.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return statement.read(rows as never[]);
}

/** A step: runs several steps in one transaction. `accountId`: the account whose row they lock. */
export function* inTransaction<Output>(steps: Steps<Output>, accountId?: string): Steps<Output> {
  const output = yield (engine) => engine.transaction(steps, accountId);
  // The engine returns what the steps return.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return output as Output;
}

const uniqueViolation = '23505';

/**
 * Runs steps whose statement may insert a row that another PostgreSQL transaction inserts at the same moment. The
 * statement is then undone, and the answer is null. Not for use inside a transaction, because that error ends it.
 */
export function* unlessRaced<Output>(steps: Steps<Output>): Steps<Output | null> {
  try {
    return yield* steps;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === uniqueViolation) return null;
    throw error;
  }
}

/** SQLite runs all steps as one unit. PostgreSQL commits each statement, unless they ask for a transaction. */
export interface Command<Kind extends 'read' | 'write', Input, Output> {
  kind: Kind;
  /** `kind` is for commands that are one round trip on PostgreSQL, and several statements on SQLite. */
  steps(input: Input, kind: EngineKind): Steps<Output>;
  /** True for sums over long histories. SQLite runs them in a thread of their own, so that they do not delay other reads. */
  isLong?: boolean;
  /** True if the command queued jobs. The store then calls the listeners of `onJobQueued`. */
  queuesJobs?(output: Output, input: Input): boolean;
}

type Part<Input, Output> = Omit<Command<'read' | 'write', Input, Output>, 'kind'>;

/** Declares a read that is one statement. It can also be a step of other commands. */
export const read = <Input, Output>(
  declared: Declared<Input, Output> & Pick<Part<Input, Output>, 'isLong'>,
): Command<'read', Input, Output> & Statement<Input, Output> => {
  const own = { ...declared, ...statement(declared) };
  const command = { ...own, kind: 'read' as const, steps: (input: Input) => run(command, input) };
  return command;
};

/** Declares the read of the row of `table` that has a text in its unique column `key`; null if there is none. */
export const readBy = <Row>(table: string, key: string, { list, read: toRow }: ColumnList<Row>) =>
  read({
    text: `select ${list()} from ${table} where ${key} = $1`,
    values: (text: string) => [text],
    read: firstOf(toRow),
  });

/** Declares a write that is one statement. It can also be a step of other commands. */
export const write = <Input, Output = void>(
  declared: Declared<Input, Output>,
): Command<'write', Input, Output> & Statement<Input, Output> => {
  const own = statement(declared);
  const command = { ...own, kind: 'write' as const, steps: (input: Input) => run(command, input) };
  return command;
};

/** Declares a deletion of at most `limit` expired rows of `table`, named by the columns `key`. It returns how many. */
export const sweepExpired = (table: string, key: string) =>
  write({
    text: ({ lockFreeRows }) => `with over as (
      select ${key} from ${table} where expires_at <= $1 order by expires_at limit $2 ${lockFreeRows}
    )
    delete from ${table} where (${key}) in (select ${key} from over) returning 1 as removed`,
    values: valuesOf<{ now: number; limit: number }>('now', 'limit'),
    read: countRows,
  });

export const readSteps = <Input, Output>(
  steps: Part<Input, Output>['steps'],
  options: Pick<Part<Input, Output>, 'isLong'> = {},
): Command<'read', Input, Output> => ({ ...options, kind: 'read', steps });

/** Declares a write of several statements, which PostgreSQL commits one by one. */
export const writeSteps = <Input, Output>(
  steps: Part<Input, Output>['steps'],
  options: Pick<Part<Input, Output>, 'queuesJobs'> = {},
): Command<'write', Input, Output> => ({ ...options, kind: 'write', steps });

/** Declares a write of several statements in one transaction. `accountOf`: the account whose row they lock. */
export const writeTransaction = <Input, Output>(
  steps: Part<Input, Output>['steps'],
  {
    accountOf,
    ...options
  }: Pick<Part<Input, Output>, 'queuesJobs'> & { accountOf?: (input: Input) => string | null } = {},
): Command<'write', Input, Output> =>
  writeSteps((input, kind) => inTransaction(steps(input, kind), accountOf?.(input) ?? undefined), options);
