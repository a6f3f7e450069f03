import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { toJsonText } from './json.ts';
import { type AppError, toAppError } from './errors.ts';
import type { Log } from './log.ts';

/** Keeps what `make` makes of a frozen body as long as the body, which is answered again and again. */
export const keepFrozen = <Made>() => {
  const kept = new WeakMap<object, Made>();
  return (body: object, make: () => Made): Made => {
    if (!Object.isFrozen(body)) return make();
    const made = kept.get(body) ?? make();
    kept.set(body, made);
    return made;
  };
};

/** A reader that takes nothing for so long is cut off; its job goes on. */
export const stalledReaderMs = 60_000;

/** Has the requests of a connection answered one after the other. One may wait for its turn; a second ends the connection. */
export const inTurn = <Serve>(
  answer: (request: IncomingMessage, response: ServerResponse, serve: Serve) => void,
) => {
  const waiting = new WeakSet<Socket>();
  const begin: typeof answer = (request, response, serve) => {
    const { socket } = request;
    if (response.socket !== null) {
      // Node keeps an answer in memory until the client takes it.
      response.once('prefinish', socket.setTimeout.bind(socket, stalledReaderMs));
      return answer(request, response, serve);
    }
    if (waiting.has(socket)) {
      // The two before it are answered.
      socket.pause();
      return void response.once('socket', () => socket.destroy());
    }
    waiting.add(socket);
    response.once('socket', () => {
      waiting.delete(socket);
      socket.setTimeout(0);
      begin(request, response, serve);
    });
  };
  return begin;
};

const keptText = keepFrozen<string>();

/** Writes a JSON answer. Names of headers are in lower case. */
export const writeJson = (
  response: ServerResponse,
  { status, headers, body }: { status: number; headers?: Record<string, string>; body: object },
): void => {
  const text = keptText(body, () => toJsonText(body));
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  // Node sends a text together with the headers, in one piece.
  response.end(text);
};

export interface FailedCall {
  /** Names the kind of call in the log, as in "a tool call". */
  what: string;
  /** Identify the call. */
  facts: Record<string, unknown>;
  /** True if the client has gone. Then the failure is not a fault. */
  isClientGone?: boolean;
}

/** Logs a 5xx once: a 503 (an outage, a full queue, an open settlement) as a warning, any other as an error. */
export const logFailure = (
  log: Log,
  error: AppError,
  { what, facts, isClientGone = false }: FailedCall,
): void => {
  if (error.status < 500 || error.isLogged) return;
  const isPutOff = error.status === 503;
  const cause = error.cause ?? (isPutOff ? undefined : error);
  log[isClientGone ? 'debug' : isPutOff ? 'warn' : 'error'](
    { ...facts, code: error.code, ...(cause === undefined ? {} : { err: cause }) },
    `${what} ${isPutOff ? 'was put off' : 'failed'}`,
  );
};

/** The form of a 422: the error envelope, a list in `detail`, or both. */
export type ValidationForm = 'envelope' | 'detail' | 'both';

export interface WriteErrorOptions {
  log: Log;
  requestId: string;
  what?: string;
  validation?: ValidationForm;
}

/** Answers a refused or failed call in the contract's form. The stack and cause go only to the log. */
export const writeError = (
  response: ServerResponse,
  thrown: unknown,
  { log, requestId, what = 'a call', validation = 'envelope' }: WriteErrorOptions,
): void => {
  const error = toAppError(thrown);
  logFailure(log, error, { what, facts: { requestId }, isClientGone: response.destroyed });
  if (response.headersSent) response.destroy();
  else
    writeJson(response, {
      status: error.status,
      headers: errorHeaders(error),
      body: errorBody(error, validation),
    });
};

/** Every 429 and 503 has a `Retry-After`, in seconds. */
const defaultRetryAfterSeconds = 5;

const errorHeaders = ({ status, headers, retryAfterSeconds }: AppError): Record<string, string> => {
  const isTemporary = status === 429 || status === 503;
  const seconds = retryAfterSeconds ?? (isTemporary ? defaultRetryAfterSeconds : undefined);
  return {
    'cache-control': 'no-store',
    ...headers,
    ...(seconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }),
  };
};

const errorBody = (error: AppError, validation: ValidationForm): object => {
  const envelope = { error: error.toEnvelope() };
  if (error.status !== 422 || validation === 'envelope') return envelope;
  const { param, message: msg } = error;
  const loc = ['body', ...(param === undefined ? [] : [param])];
  const detail = error.issues ?? [{ loc, msg, type: 'value_error' }];
  return validation === 'detail' ? { detail } : { detail, ...envelope };
};
