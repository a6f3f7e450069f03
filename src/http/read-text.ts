import { promisify } from 'node:util';
import { unzip } from 'node:zlib';
import type { HttpAnswer } from './send-request.ts';

/**
 * Reads the body of an answer as text. Decodes gzip and deflate, which some proxies send although nobody asked for them.
 * Throws when the decoded text is longer than `maxBytes`, or the body cannot be read.
 */
export const readText = async ({ headers, body }: HttpAnswer, maxBytes: number): Promise<string> => {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return body.text();
  const bytes = await promisify(unzip)(await body.bytes(), { maxOutputLength: maxBytes });
  return bytes.toString('utf8');
};
