import { AppError } from '../errors.ts';

export interface InconclusiveErrorOptions {
  /** Safe to show; says what to do. */
  message?: string;
  /** For the log. */
  cause: string;
}

const retrySeconds = 5;

/**
 * A source answered, and its answer does not tell whether anything matches: an empty result would be a guess, and be
 * paid for. It says nothing against the source.
 */
export class InconclusiveError extends AppError {
  constructor({ message, cause }: InconclusiveErrorOptions) {
    super('upstream_error', message ?? 'The data source is temporarily unavailable. Try again.', {
      retryAfterSeconds: retrySeconds,
      cause: new Error(cause),
    });
  }
}
