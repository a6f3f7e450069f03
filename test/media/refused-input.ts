import { expect } from 'vitest';
import type { FetchedInput } from '../../src/media/fetch-input.ts';
import type { StreamInputOptions } from '../../src/media/stream-input.ts';
import { noAbort } from '../providers/collect.ts';

export const imageOptions: StreamInputOptions = {
  kind: 'image',
  maxBytes: 2 * 1024 ** 2,
  param: 'image.3',
  signal: noAbort(),
};

/** Uses an input by handing it over. */
export const asItIs = (input: FetchedInput): Promise<FetchedInput> => Promise.resolve(input);

/** A 422 on the field, whose text has these words and its place in the body. */
export const refusal = (words: string): unknown =>
  expect.objectContaining({
    name: 'AppError',
    code: 'invalid_parameter',
    status: 422,
    param: 'image.3',
    message: expect.stringMatching(new RegExp(`^image\\.3: .*${words}`)),
    issues: [{ loc: ['body', 'image', 3], msg: expect.stringContaining(words), type: 'value_error' }],
  });
