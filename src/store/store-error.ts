/**
 * Why the store failed: `overloaded`: too many commands wait, nothing was tried. `closed`: the store was
 * closed. `crashed`: the engine's worker ended. `timeout`: no answer in time. `failed`: the engine refused
 * the command. After the last three the change may or may not have happened, unless the message says more.
 */
export type StoreFailure = 'overloaded' | 'closed' | 'crashed' | 'timeout' | 'failed';

/** The store itself failed; never an expected refusal. The message is for the log, not for customers. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly reason: StoreFailure;

  constructor(reason: StoreFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}
