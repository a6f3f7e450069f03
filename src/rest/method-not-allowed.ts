import { AppError } from '../kit/errors.ts';

/** Refuses a method on a known path. `allow` is the value of the Allow header. */
export const methodNotAllowed = (allow: string): AppError =>
  new AppError('method_not_allowed', `This path takes ${allow}.`, { headers: { allow } });
