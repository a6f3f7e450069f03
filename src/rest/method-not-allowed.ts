import { AppError } from '../kit/errors.ts';

/** The refusal of a method that a known path does not take; `allow` is the value of the Allow header. */
export const methodNotAllowed = (allow: string): AppError =>
  new AppError('method_not_allowed', `This path takes ${allow}.`, { headers: { allow } });
