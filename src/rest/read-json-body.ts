import type { IncomingMessage } from 'node:http';
import { AppError, messages } from '../kit/errors.ts';
import { keepMemberText } from '../kit/json-text.ts';
import { watchSender, type WatchSenderOptions } from '../limits/watch-sender.ts';

export interface ReadJsonBodyOptions {
  maxBytes: number;
  /** Waits until memory for a large body is free; `contentLength` as `bodyCost` takes it. */
  reserve(contentLength: string | undefined): Promise<void>;
  /** The minimum speed of a sender. */
  sender?: WatchSenderOptions;
}

/**
 * Reads a request's JSON body. Returns it with its length in bytes. Throws AppError: payload_too_large, invalid_json,
 * unsupported_media_type, overloaded.
 */
export const readJsonBody = async (
  request: IncomingMessage,
  options: ReadJsonBodyOptions,
): Promise<{ value: unknown; length: number }> => {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new AppError('unsupported_media_type', messages.unsupported_media_type);
  const bytes = await readBody(request, options);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    keepMemberText(value, 'custom_data', text);
    return { value, length: bytes.length };
  } catch (error) {
    throw new AppError('invalid_json', messages.invalid_json, { cause: error });
  }
};

const tooLarge = (maxBytes: number): AppError =>
  new AppError('payload_too_large', `The body is larger than ${maxBytes} bytes. Send less.`);

/** A body without a Content-Length may have this size before memory is reserved for the largest body. */
const unannouncedBytes = 64 * 1024;

const readBody = async (
  request: IncomingMessage,
  { maxBytes, reserve, sender }: ReadJsonBodyOptions,
): Promise<Buffer> => {
  const announced = request.headers['content-length'];
  if (Number(announced ?? 0) > maxBytes) throw tooLarge(maxBytes);
  let isReserved = announced !== undefined;
  if (isReserved) await reserve(announced);
  const chunks: Buffer[] = [];
  let length = 0;
  let endWatch = watchSender(request, sender);
  try {
    // If the body is refused midway, the connection stays open for the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      if (!isReserved && length > unannouncedBytes) {
        isReserved = true;
        endWatch();
        await reserve(undefined);
        endWatch = watchSender(request, sender);
      }
      chunks.push(chunk);
    }
  } finally {
    endWatch();
  }
  return Buffer.concat(chunks, length);
};
