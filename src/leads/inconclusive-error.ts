import { AppError } from '../kit/errors.ts';

export interface InconclusiveErrorOptions {
  /** Safe to show; says what to do. */
  message?: string;
  /** For the log. */
  cause: string;
  /** Whether the source was asked, or it is known by earlier searches what it would answer; absent: it was. */
  wasAsked?: boolean;
}

/** The same search would have the same end: it is not worth repeating soon. */
export const doubtSeconds = 60;

const usualMessage =
  'The data source does not tell whether anything matches. Search with other words or fewer filters.';

/**
 * A source answered, and its answer does not tell whether anything matches: an empty result would be a guess, and be
 * paid for. It says nothing against the source.
 */
export class InconclusiveError extends AppError {
  readonly wasAsked: boolean;

  constructor({ message, cause, wasAsked = true }: InconclusiveErrorOptions) {
    super('upstream_error', message ?? usualMessage, {
      retryAfterSeconds: doubtSeconds,
      cause: new Error(cause),
    });
    this.wasAsked = wasAsked;
  }
}
