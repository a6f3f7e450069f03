import { AppError, errorTable, toErrorCode } from '../../kit/errors.ts';
import type { Job } from '../../store/store.ts';

/** The wait before a client repeats a request that an upstream refused because of load. */
const retryAfterSeconds = 5;

/** Returns the refusal that a failed job answers. */
export const toJobError = (job: Job, headers: Record<string, string>): AppError => {
  const code = toErrorCode(job.error?.code);
  const status = errorTable[code][0];
  return new AppError(code, job.error?.message ?? 'The job failed. It was not charged.', {
    headers,
    ...(status === 429 || status === 503 ? { retryAfterSeconds } : {}),
  });
};
