import type { IncomingMessage } from 'node:http';
import { AppError } from '../errors.ts';

/** A request's JSON body, at most `maxBytes` long. Throws AppError: payload_too_large, invalid_json, unsupported_media_type. */
export const readJsonBody = async (request: IncomingMessage, maxBytes: number): Promise<unknown> => {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new AppError('unsupported_media_type', 'Compressed bodies are not read. Send the JSON as it is.');
  const bytes = await readBody(request, maxBytes);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new AppError('invalid_json', 'The body is not valid JSON in UTF-8. Send one JSON object.', {
      cause: error,
    });
  }
};

const tooLarge = (maxBytes: number): AppError =>
  new AppError('payload_too_large', `The body is larger than ${maxBytes} bytes. Send less.`, {
    // What is left of the body is not read, so the connection cannot be used again.
    headers: { connection: 'close' },
  });

const readBody = async (request: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
};
