import { columns, text, time, type RowOf } from '../columns.ts';
import { read, run, sweepExpired, write, writeTransaction, type Steps } from '../command.ts';
import { firstOf, statement, valuesOf } from '../statement.ts';

const fields = {
  /** SHA-256 of the cookie. */
  id: text(),
  role: text<'customer' | 'operator'>(),
  /** SHA-256 of the key that signed in. */
  keyHash: text(),
  expiresAt: time(),
};
const sessions = columns(fields);
export type ConsoleSession = RowOf<typeof fields>;

export interface NewConsoleSession extends ConsoleSession {
  /** The most sessions of the key, with this one. */
  maxOfKey: number;
}

const insert = statement({
  text: `insert into console_sessions (${sessions.list()}) values (${sessions.parameters()})`,
  values: (session: NewConsoleSession) => sessions.values(session),
});

const evict = statement({
  text: ({ lockFreeRows }) => `delete from console_sessions where id in (
      select id from console_sessions where key_hash = $1 and id <> $2
      order by expires_at desc, id limit 1000 offset $3 ${lockFreeRows}
    )`,
  values: ({ keyHash, id, maxOfKey }: NewConsoleSession) => [keyHash, id, maxOfKey - 1],
});

/** Signs a key in. The oldest sessions of the key end when it has too many. */
export const openConsoleSession = writeTransaction(function* (session: NewConsoleSession): Steps<void> {
  yield* run(insert, session);
  yield* run(evict, session);
});

/** Null if there is none of the role, or it has ended. */
export const findConsoleSession = read({
  text: `select ${sessions.list()} from console_sessions where id = $1 and role = $2 and expires_at > $3`,
  values: valuesOf<Pick<ConsoleSession, 'id' | 'role'> & { now: number }>('id', 'role', 'now'),
  read: firstOf(sessions.read),
});

export const endConsoleSession = write({
  text: `delete from console_sessions where id = $1`,
  values: (id: string) => [id],
});

export const sweepConsoleSessions = sweepExpired('console_sessions', 'id');
