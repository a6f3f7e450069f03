/**
 * `full`: too many calls wait, this one was not made. `timeout`: no answer in time. `failed`: the thread refused the call.
 * `crashed`: the thread ended. `closed`: the thread was closed. After `timeout` and `crashed` the outcome of the call is
 * unknown.
 */
export type ThreadFailure = 'full' | 'timeout' | 'failed' | 'crashed' | 'closed';

export class ThreadError extends Error {
  override readonly name = 'ThreadError';
  readonly reason: ThreadFailure;

  constructor(reason: ThreadFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}
