import { AppError } from '../kit/errors.ts';

/**
 * Makes the 422 for a refused input. `text` follows the parameter's name, as in "is not an image", and never contains
 * text of the server that was asked.
 */
export const refuseInput = (param: string, text: string, cause?: unknown): AppError =>
  new AppError('invalid_parameter', `${param}: ${text}`, {
    param,
    issues: [{ loc: ['body', ...toPath(param)], msg: text, type: 'value_error' }],
    ...(cause === undefined ? {} : { cause }),
  });

/** Converts `messages.0.content` to a path. Whole numbers are array indices. */
const toPath = (param: string): (string | number)[] =>
  param.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));
