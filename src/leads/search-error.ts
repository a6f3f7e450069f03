import { AppError } from '../kit/errors.ts';

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
