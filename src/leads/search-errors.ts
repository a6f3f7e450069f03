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

const problems = {
  nothing: { message: 'There are no profiles to search now. Try again later.', retryAfterSeconds: 300 },
  preparing: { message: 'The lead index is being prepared. Try again in a moment.', retryAfterSeconds: 5 },
  late: { message: 'The search took too long. Try again, or use rarer words.', retryAfterSeconds: 1 },
  full: { message: 'Too many searches are waiting. Try again in a moment.', retryAfterSeconds: 1 },
  failed: { message: 'The search failed. Try again in a moment.', retryAfterSeconds: 1 },
  interrupted: { message: 'The search was interrupted. Try again in a moment.', retryAfterSeconds: 1 },
};

/** Returns the AppError `upstream_error` of a search in the imported profiles. */
export const searchError = (problem: keyof typeof problems, cause?: unknown): AppError => {
  const { message, retryAfterSeconds } = problems[problem];
  return new AppError('upstream_error', message, { retryAfterSeconds, cause });
};
