import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Engine, Steps } from '../command.ts';
import { commands, type AnyCommand } from '../commands.ts';
import type { RunCommand } from './messages.ts';
import type { Dialect, Statement } from '../statement.ts';

export const sqliteDialect: Dialect = {
  kind: 'sqlite',
  isOneOf: (column, parameter) => `${column} in (select value from json_each(${parameter}))`,
  givenStrings: (parameter) => `(select value, key as position from json_each(${parameter})) as given`,
  lockRows: '',
  lockFreeRows: '',
};

type Drive = <Output>(steps: Steps<Output>) => Output;

/** Runs the steps of commands on a connection. A statement is prepared when it is first needed. */
export const sqliteEngine = (database: DatabaseSync): Drive => {
  const prepared = new Map<Statement<never, unknown>, StatementSync>();
  const prepare = (statement: Statement<never, unknown>): StatementSync => {
    const { text } = statement;
    const sql = typeof text === 'string' ? text : text(sqliteDialect);
    const made = database.prepare(sql.replaceAll(/\$(\d+)/g, '?$1'));
    made.setReadBigInts(true);
    prepared.set(statement, made);
    return made;
  };
  const engine: Engine = {
    rows: (statement, values) =>
      statement.only === 'postgres' ? [] : (prepared.get(statement) ?? prepare(statement)).all(...values),
    transaction: (steps) => drive(steps),
    announcement: { channel: '', sender: '' },
  };
  const drive = <Output>(steps: Steps<Output>): Output => {
    let next = steps.next();
    while (next.done !== true) {
      const step = next.value;
      let answer: unknown;
      try {
        answer = step(engine);
      } catch (error) {
        next = steps.throw(error);
        continue;
      }
      next = steps.next(answer);
    }
    return next.value;
  };
  return drive;
};

/** Finds the command of a request: one of this kind, or one of the connection's `own`. */
export const requestRunner = (
  kind: AnyCommand['kind'],
  drive: Drive,
  own: Record<string, () => unknown>,
): RunCommand => {
  const runs = new Map<string, (input: unknown) => unknown>(Object.entries(own));
  for (const [name, command] of Object.entries<AnyCommand>(commands))
    if (command.kind === kind) runs.set(name, (input) => drive(command.steps(input, 'sqlite')));
  return ({ name, input }) => {
    const runOne = runs.get(name);
    if (runOne === undefined) throw new Error(`there is no command ${name} here`);
    return runOne(input);
  };
};
