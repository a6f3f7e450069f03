import type { ThreadAnswer, ThreadCall } from '../../kit/threads/connect-thread.ts';
import type { CommandName } from '../commands.ts';
import type { StoreFailure } from '../store-error.ts';

export interface Command {
  /**
   * `ping` asks for a trivial read; `probe`, which only the writer takes, for a write that is on the disk afterwards;
   * `checkLedger`, which only a reader takes, for the report.
   */
  name: CommandName | 'ping' | 'probe' | 'checkLedger';
  input: unknown;
}

export type Request = ThreadCall<Command>;

export interface Failure {
  failure: string;
  reason: StoreFailure;
}

export type Outcome = { value: unknown } | Failure;

export type Reply = ThreadAnswer<Outcome>;

/** The worker's first message: it takes requests from now on, or says why it cannot. */
export type Greeting = { ready: true } | Failure;

/** `writer` runs the writes in groups, `reader` the reads on a connection of its own. */
export interface ConnectionSettings {
  role: 'writer' | 'reader';
  file: string;
  /** A command fails if another process's write takes longer. */
  busyTimeoutMs: number;
}

export type RunCommand = (command: Command) => unknown;

const failureText = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  return 'errcode' in thrown ? `${thrown.message} (SQLite code ${String(thrown.errcode)})` : thrown.message;
};

const sqliteFull = 13;
/**
 * SQLITE_BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, CANTOPEN, PROTOCOL and NOTADB: the state of the machine or of the
 * file, no fault of the command.
 */
const sqliteOutages: readonly number[] = [5, 6, 7, 8, 10, 11, 14, 15, 26];

export const toFailure = (thrown: unknown): Failure => {
  const code = primaryCode(thrown);
  const reason =
    code === sqliteFull ? 'full' : code !== null && sqliteOutages.includes(code) ? 'unavailable' : 'failed';
  return { failure: failureText(thrown), reason };
};

/** Extended result codes carry the primary one in their low byte. Null: not an error of SQLite. */
export const primaryCode = (thrown: unknown): number | null =>
  thrown instanceof Error && 'errcode' in thrown && typeof thrown.errcode === 'number'
    ? thrown.errcode & 0xff
    : null;
