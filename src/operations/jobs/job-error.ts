import { AppError, errorTable, toErrorCode } from '../../kit/errors.ts';
import type { Job } from '../../store/store.ts';

/** How long a client should wait before it repeats a request that an upstream refused for load. */
const retryAfterSeconds = 5;

/** The refusal that a failed job answers with. */
export const toJobError = (job: Job, headers: Record<string, string>): AppError => {
  const code = toErrorCode(job.error?.code);
  const status = errorTable[code][0];
  return new AppError(code, job.error?.message ?? 'The job failed. It was not charged.', {
    headers,
    ...(status === 429 || status === 503 ? { retryAfterSeconds } : {}),
  });
};
