import { randomUUID } from 'node:crypto';
import { ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, type ErrorCode } from '../errors.ts';

/** By the codes of Node's parser and timers. */
const refusals: Record<string, [status: number, code: ErrorCode, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'payload_too_large', 'The headers of this request are too long.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'payload_too_large', 'The chunks of this body are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'This request took too long to arrive.'],
};
const unreadable: [number, ErrorCode, string] = [
  400,
  'invalid_value',
  'This is no HTTP request that can be read.',
];

/** Whether an answer has begun on it, in the midst of which another would be read as a part of it. */
const isAnswering = (socket: Duplex): boolean => {
  const message: unknown = '_httpMessage' in socket ? socket._httpMessage : null;
  return message instanceof ServerResponse && message.headersSent;
};

/** Answers, in the form of all refusals, what never became a request. */
export const refuseUnreadable = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (!socket.writable || error.code === 'ECONNRESET' || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const [status, code, message] = refusals[error.code ?? ''] ?? unreadable;
  const body = JSON.stringify({ error: new AppError(code, message).toEnvelope() });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: req_${randomUUID()}`,
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
};
