import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { checkLedger } from '../check-ledger.ts';
import { emptyLog, migrateDatabase, openDatabase } from './database.ts';
import { toFailure, type ConnectionSettings, type Reply, type Request, type RunCommand } from './messages.ts';
import type { Engine, Steps } from '../command.ts';
import { commands, type AnyCommand } from '../commands.ts';
import type { Dialect, Statement } from '../statement.ts';

/** The prompt of an ended job may stay in the write-ahead log for this time, or as long as somebody reads. */
const emptyLogEveryMs = 10_000;

/** Opens the file in this thread, for the commands of one role. Throws if it cannot be opened. */
export const openConnection = (settings: ConnectionSettings, send: (replies: Reply[]) => void) => {
  const database = openDatabase(settings);
  try {
    migrateDatabase(database, settings.busyTimeoutMs);
  } catch (error) {
    database.close();
    throw error;
  }
  const isWriter = settings.role === 'writer';
  const emptying = isWriter
    ? setInterval(() => emptyLog(database, settings.busyTimeoutMs), emptyLogEveryMs)
    : undefined;
  const { take, drain } = isWriter ? createWriter(database, send) : createReader(database, send);
  return {
    take,
    /** Answers the requests that it has taken, and closes the file. */
    close: (): void => {
      clearInterval(emptying);
      drain();
      database.close();
    },
  };
};

/** Limits how long the first command of a group waits for the last. */
const maxGroup = 512;

export interface RequestHandler {
  take(requests: readonly Request[]): void;
  drain(): void;
}

/**
 * Commits the writes that have arrived as one group. The port delivers all messages that came during the last fsync
 * before the next turn of the loop, so groups grow with the load.
 */
export const createWriter = (database: DatabaseSync, send: (replies: Reply[]) => void): RequestHandler => {
  const run = requestRunner('write', sqliteEngine(database), {
    ping: () => null,
    probe: probeCommand(database),
  });
  const commitGroup = groupCommit(database, run);
  let waiting: Request[] = [];

  const runGroup = (): void => {
    const group = waiting.slice(0, maxGroup);
    waiting = waiting.slice(maxGroup);
    if (waiting.length > 0) setImmediate(runGroup);
    if (group.length > 0) send(commit(group));
  };
  // A probe that fails on a full disk must not make other commands fail.
  const commit = (group: Request[]): Reply[] => {
    const commands = group.filter(({ input }) => input.name !== 'probe');
    const probes = group.filter(({ input }) => input.name === 'probe');
    return [
      ...(commands.length > 0 ? commitGroup(commands) : []),
      ...probes.flatMap((probe) => commitGroup([probe])),
    ];
  };

  return {
    take: (requests) => {
      if (waiting.length === 0) setImmediate(runGroup);
      for (const request of requests) waiting.push(request);
    },
    drain: () => {
      while (waiting.length > 0) {
        send(commit(waiting.slice(0, maxGroup)));
        waiting = waiting.slice(maxGroup);
      }
    },
  };
};

/** Far more than a new job needs. */
const probeBytes = 16_384;

/** Writes as much as a new job does, before it deletes the last probe's row, so that the file needs the space. */
const probeCommand = (database: DatabaseSync): (() => null) => {
  const write = database.prepare('insert into write_probe (filler) values (zeroblob(?))');
  const remove = database.prepare('delete from write_probe where id < last_insert_rowid()');
  return () => {
    write.run(probeBytes);
    remove.run();
    return null;
  };
};

/**
 * Runs requests as one transaction. When this returns, the COMMIT is fsync'd, so send the replies only then. If a command
 * throws, the group is undone and runs again with a savepoint for each command, so that this one fails alone. If the
 * transaction itself fails, all replies are failures and nothing was changed.
 */
export const groupCommit = (database: DatabaseSync, run: RunCommand): ((requests: Request[]) => Reply[]) => {
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const save = database.prepare('savepoint command');
  const release = database.prepare('release command');
  const undo = database.prepare('rollback to command');

  const runFreely = ({ id, input }: Request): Reply => ({ id, output: { value: run(input) } });
  const runGuarded = (request: Request): Reply => {
    save.run();
    try {
      const reply = runFreely(request);
      release.run();
      return reply;
    } catch (error) {
      // SQLite rolls back the whole transaction by itself if the disk is full or fails.
      if (!database.isTransaction) throw error;
      undo.run();
      release.run();
      return { id: request.id, output: toFailure(error) };
    }
  };
  const commitAll = (requests: Request[], runOne: (request: Request) => Reply): Reply[] => {
    begin.run();
    const replies = requests.map(runOne);
    commit.run();
    return replies;
  };

  return (requests) => {
    let runOne = runFreely;
    for (;;)
      try {
        return commitAll(requests, runOne);
      } catch (error) {
        const mayRepeat = database.isTransaction && runOne === runFreely;
        if (database.isTransaction) database.exec('rollback');
        if (!mayRepeat) return requests.map(({ id }) => ({ id, output: toFailure(error) }));
        runOne = runGuarded;
      }
  };
};

/**
 * Answers reads one after another, those of one message on one snapshot, because each would lock the file for itself. It
 * has everything that was committed before the message came.
 */
const createReader = (database: DatabaseSync, send: (replies: Reply[]) => void): RequestHandler => {
  database.exec('pragma query_only = on');
  const trivialRead = database.prepare('select count(*) from sqlite_schema');
  const begin = database.prepare('begin');
  const commit = database.prepare('commit');
  const drive = sqliteEngine(database);
  const run = requestRunner('read', drive, {
    ping: () => trivialRead.get() && null,
    checkLedger: () => drive(checkLedger()),
  });
  const answer = ({ id, input }: Request): Reply => {
    try {
      return { id, output: { value: run(input) } };
    } catch (error) {
      return { id, output: toFailure(error) };
    }
  };
  const take = (requests: readonly Request[]): void => {
    begin.run();
    const replies = requests.map(answer);
    // SQLite ends the transaction by itself when the disk fails.
    if (database.isTransaction) commit.run();
    send(replies);
  };
  return { take, drain: () => {} };
};

export const sqliteDialect: Dialect = {
  kind: 'sqlite',
  isOneOf: (column, parameter) => `${column} in (select value from json_each(${parameter}))`,
  givenStrings: (parameter) => `(select value, key as position from json_each(${parameter})) as given`,
  lockRows: '',
  lockFreeRows: '',
};

type Drive = <Output>(steps: Steps<Output>) => Output;

/** Runs the steps of commands on a connection. A statement is prepared when it is first needed. */
const sqliteEngine = (database: DatabaseSync): Drive => {
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
const requestRunner = (
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
