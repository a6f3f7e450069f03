import { AppError } from '../kit/errors.ts';

/** Returns the refusal of a call above a limit per minute. `what` begins the sentence, as in "Too many searches". */
export const tooMany = (
  what: string,
  { ratePerMinute, msLeft }: { ratePerMinute: number; msLeft: number },
): AppError => {
  const retryAfterSeconds = Math.max(1, Math.ceil(msLeft / 1_000));
  return new AppError(
    'rate_limit_exceeded',
    `${what}: at most ${ratePerMinute} a minute. Wait as long as Retry-After says.`,
    { retryAfterSeconds },
  );
};
