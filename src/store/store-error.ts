import { AppError, diskFull, KnownFault } from '../kit/errors.ts';

/**
 * The reason of a failure. `overloaded`: too many commands wait; nothing was tried. `closed`: the store was closed, or
 * could not be opened. `full`: its disk is full; nothing was changed. `crashed`: the engine's worker ended. `timeout`: no answer in time.
 * `unavailable`: the database cannot be reached, or cannot work now. `failed`: the engine refused the command. After
 * the last four the change may or may not have happened, unless the message says more.
 */
export type StoreFailure =
  | 'overloaded'
  | 'closed'
  | 'full'
  | 'crashed'
  | 'timeout'
  | 'unavailable'
  | 'failed';

/** A failure of the store itself, never an expected refusal. The message is for the log, not for customers. */
export class StoreError extends KnownFault {
  override readonly name = 'StoreError';
  readonly reason: StoreFailure;

  constructor(reason: StoreFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }

  override toAppError(): AppError {
    switch (this.reason) {
      case 'overloaded':
        return new AppError('overloaded', 'The service is busy. Try again.', { cause: this });
      case 'closed':
        return new AppError('shutting_down', 'The service is restarting. Try again.', { cause: this });
      case 'full':
        return diskFull(this);
      case 'crashed':
      case 'timeout':
      case 'unavailable':
        return new AppError(
          'upstream_unavailable',
          'The database of the service does not answer. Try again; an Idempotency-Key keeps a job from being made twice.',
          { cause: this, retryAfterSeconds: 5 },
        );
      case 'failed':
        return new AppError('server_error', 'The service had a temporary error. Try again.', { cause: this });
    }
  }
}
