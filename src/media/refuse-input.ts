import { AppError } from '../kit/errors.ts';

/**
 * The 422 for an input that cannot be taken. `text` goes on after the parameter's name, as in "is not an image", and
 * never holds words of the address's server.
 */
export const refuseInput = (param: string, text: string, cause?: unknown): AppError =>
  new AppError('invalid_parameter', `${param}: ${text}`, {
    param,
    issues: [{ loc: ['body', ...toPath(param)], msg: text, type: 'value_error' }],
    ...(cause === undefined ? {} : { cause }),
  });

/** Inputs stand in arrays and in members whose names are words. */
const toPath = (param: string): (string | number)[] =>
  param.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));
