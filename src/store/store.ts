import type { LedgerReport } from './check-ledger.ts';
import type { CommandMethods } from './commands.ts';

export type * from './command-files.ts';
export type * from './commands/account-table.ts';
export type * from './commands/auto-top-up-table.ts';
export type * from './commands/card-payment-table.ts';
export type * from './commands/history-page.ts';
export type * from './commands/job-table.ts';
export type * from './commands/key-table.ts';
export type * from './commands/ledger-table.ts';
export type * from './commands/payment-table.ts';
export type * from './commands/webhook-walk.ts';
export type { LedgerReport } from './check-ledger.ts';

/** Is told how many commands were committed, or sent to PostgreSQL, together. */
export type OnGroup = ((size: number) => void) | undefined;

/**
 * The one interface to durable state, with an adapter for SQLite (embedded) and one for PostgreSQL. Its commands are
 * declared in `commands/`. Every write is one atomic unit: when its promise resolves, the whole change is on disk
 * (fsync'd). Times are epoch milliseconds, amounts nano-dollars. Expected refusals are values (`outcome`). A thrown
 * error means that the store itself failed; the write may or may not have happened.
 */
export interface Store extends CommandMethods {
  readonly kind: 'sqlite' | 'postgres';
  /** Recomputes every account's sums from the entries and open holds. Reads only. */
  checkLedger(): Promise<LedgerReport>;
  /**
   * Calls `listener` when a job may have become claimable, here or (PostgreSQL) in another process. `listener` must not
   * throw. Returns a function that stops the calls.
   */
  onJobQueued(listener: () => void): () => void;
  /**
   * Resolves if the store answers a trivial read; throws otherwise. Returns by how many milliseconds, at least, the clock of
   * this machine is ahead of the database's; below 0: behind.
   */
  ping(): Promise<number>;
  /** Resolves if the store could take a new job; throws otherwise. It writes a row as a test. */
  probe(): Promise<void>;
  /** Waits for running commands and closes. */
  close(): Promise<void>;
}
