import { randomUUID } from 'node:crypto';
import { ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, type ErrorCode } from '../kit/errors.ts';

type Refusal = [status: number, code: ErrorCode, message: string];

/** By the codes of Node's parser and timers. */
const refusals: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: [431, 'payload_too_large', 'The headers of this request are too long.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'payload_too_large', 'The chunks of this body are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'This request took too long to arrive.'],
};
const unreadable: Refusal = [400, 'invalid_value', 'This is no HTTP request that can be read.'];
/** How long a client may still send after its refusal. A server that is ending waits for it. */
const lingerMs = 1_000;

/**
 * Whether an answer has begun on it, in the midst of which another would be read as a part of it, or is still to come for an
 * earlier request, whose answer it would be taken for.
 */
const isAnswering = (socket: Duplex): boolean => {
  const message: unknown = '_httpMessage' in socket ? socket._httpMessage : null;
  return message instanceof ServerResponse && (message.headersSent || message.req.complete);
};

/** Answers, in the form of all refusals, what never became a request. */
export const refuseUnreadable = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === 'ECONNRESET') socket.destroy();
  else refuse(socket, refusals[error.code ?? ''] ?? unreadable);
};

/** Answers CONNECT: this is no proxy. */
export const refuseConnect = (socket: Duplex): void =>
  refuse(socket, [405, 'method_not_allowed', 'This server is not a proxy.'], ['Allow: GET, HEAD, POST']);

const refuse = (socket: Duplex, [status, code, message]: Refusal, headers: string[] = []): void => {
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify({ error: new AppError(code, message).toEnvelope() });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: req_${randomUUID()}`,
    'Cache-Control: no-store',
    'Connection: close',
    ...headers,
  ];
  socket.on('error', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // What still comes is read and dropped: a connection that is closed with unread bytes is reset, and the answer lost.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
};
