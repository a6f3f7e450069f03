import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { AppError, type ErrorCode } from '../kit/errors.ts';

// Importing it would load Node's second HTTP client too (app.ts).
const { ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');

type Refusal = [status: number, code: ErrorCode, message: string];

/** Refusals by the error codes of Node's parser and timers. */
const refusals: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: [431, 'payload_too_large', 'The headers of this request are too long.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'payload_too_large', 'The chunks of this body are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'This request took too long to arrive.'],
};
const unreadable: Refusal = [400, 'invalid_value', 'This is not a valid HTTP request.'];
/** How long a refused client may still send. A server that is ending waits for it. */
const lingerMs = 1_000;

/**
 * True if an answer on the socket has begun, or is still to come for an earlier request. A refusal would be read as
 * part of that answer, or instead of it.
 */
const isAnswering = (socket: Duplex): boolean => {
  const message: unknown = '_httpMessage' in socket ? socket._httpMessage : null;
  return message instanceof ServerResponse && (message.headersSent || message.req.complete);
};

/** Answers bytes that are not a valid request, in the form of all refusals. */
export const refuseUnreadable = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === 'ECONNRESET') socket.destroy();
  else refuse(socket, refusals[error.code ?? ''] ?? unreadable);
};

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
  // Reads and drops further bytes. A connection that is closed with unread bytes is reset, and the answer is lost.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
};
