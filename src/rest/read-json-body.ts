import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, messages } from '../kit/errors.ts';
import { bytesExcess, keepMemberText, refuseExcess } from '../kit/json.ts';
import { watchSender, type WatchSenderOptions } from '../limits/request-memory.ts';

export interface ReadJsonBodyOptions {
  maxBytes: number;
  /** Added to the refusal of a larger body. */
  hint?: string;
  /** Waits until memory for a large body is free; `contentLength` as `bodyCost` takes it. */
  reserve(contentLength: string | undefined): Promise<void>;
  /** The minimum speed of a sender. */
  sender?: WatchSenderOptions;
}

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

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
  refuseExcess(bytesExcess(bytes));
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    keepMemberText(value, 'custom_data', text);
    return { value, length: bytes.length };
  } catch (error) {
    throw new AppError('invalid_json', messages.invalid_json, { cause: error });
  }
};

const utf8 = new TextDecoder('utf-8', { fatal: true });

const tooLarge = ({ maxBytes, hint }: ReadJsonBodyOptions): AppError =>
  new AppError(
    'payload_too_large',
    `The body is larger than ${maxBytes} bytes. Send less.${hint === undefined ? '' : ` ${hint}`}`,
  );

/** A body without a Content-Length may have this size before memory is reserved for the largest body. */
const unannouncedBytes = 64 * 1024;

/** Reads the bytes of a body. Throws AppError as `readJsonBody`. */
export const readBody = async (request: IncomingMessage, options: ReadJsonBodyOptions): Promise<Buffer> => {
  const { maxBytes, reserve, sender } = options;
  const announced = request.headers['content-length'];
  if (Number(announced ?? 0) > maxBytes) throw tooLarge(options);
  let isReserved = announced !== undefined;
  if (isReserved) await reserve(announced);
  const body = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  let endWatch = watchSender(request, sender);
  const take = (chunk: Buffer): void => {
    length += chunk.length;
    if (length > maxBytes) return body.reject(tooLarge(options));
    chunks.push(chunk);
    if (isReserved || length <= unannouncedBytes) return;
    isReserved = true;
    endWatch();
    request.pause();
    reserve(undefined).then(() => {
      endWatch = watchSender(request, sender);
      request.resume();
    }, body.reject);
  };
  const end = (): void => body.resolve(Buffer.concat(chunks, length));
  const cut = (): void => {
    if (!request.readableEnded) body.reject(new Error('the request was cut off'));
  };
  request.on('data', take).on('end', end).on('error', body.reject).on('close', cut);
  if (request.destroyed) cut();
  try {
    return await body.promise;
  } finally {
    endWatch();
    // If the body is refused midway, the connection stays open for the answer.
    request.pause().off('data', take).off('end', end).off('error', body.reject).off('close', cut);
  }
};

/** Time that a client may need to send the rest of a refused body. */
const usualLongestMs = 15_000;

/**
 * After the answer is written, reads and discards the rest of the request's body for a while, then cuts the connection.
 * If it were closed at once, a client that is still sending would never see the answer.
 */
export const discardUnread = (
  request: IncomingMessage,
  response: ServerResponse,
  { longestMs = usualLongestMs }: { longestMs?: number } = {},
): void => {
  // Runs before node's own listener, which closes the connection after the last answer even if the client still sends.
  response.prependOnceListener('finish', () => {
    if (request.complete) return;
    const { socket } = request;
    socket.destroySoon = () => void socket.end();
    const timer = setTimeout(() => socket.destroy(), longestMs);
    const end = (): void => {
      clearTimeout(timer);
      Reflect.deleteProperty(socket, 'destroySoon');
      if (socket.writableEnded) socket.destroy();
    };
    request.once('end', end).once('close', end).resume();
  });
};
