import { AppError } from '../kit/errors.ts';

export interface InconclusiveErrorOptions {
  /** Safe to show. Says what to do. */
  message?: string;
  /** For the log. */
  cause: string;
  /** False if the source was not asked, because earlier searches show its answer. Default true. */
  wasAsked?: boolean;
}

/** The same search would end in the same way for a while, so it is not worth repeating. */
export const inconclusiveSeconds = 60;

const defaultMessage =
  'The data source does not tell whether anything matches. Search with other words or fewer filters.';

/**
 * An answer of a source that does not tell whether anything matches. An empty result would be a guess, and it would be
 * paid for. It is no failure of the source.
 */
export class InconclusiveError extends AppError {
  readonly wasAsked: boolean;

  constructor({ message, cause, wasAsked = true }: InconclusiveErrorOptions) {
    super('upstream_error', message ?? defaultMessage, {
      retryAfterSeconds: inconclusiveSeconds,
      cause: new Error(cause),
    });
    this.wasAsked = wasAsked;
  }
}
