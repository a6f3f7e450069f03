import type { Dispatcher } from 'undici';
import { startDeadline, type Deadline } from '../kit/deadline.ts';
import { OutboundError } from './outbound.ts';
import { promisify } from 'node:util';
import { unzip } from 'node:zlib';

export interface HttpRequest {
  /** By default GET. */
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  headers?: Record<string, string>;
  body?: Dispatcher.DispatchOptions['body'];
  /** Closes the connection after the answer. */
  closes?: boolean;
  timeouts: HttpTimeouts;
  signal?: AbortSignal | null | undefined;
  /** The limits of the body, or what chooses them when the headers have come. */
  limits: BodyLimits | ((head: AnswerHead) => BodyLimits);
}

export interface HttpTimeouts {
  /** Up to the first byte of the body. */
  firstByteMs?: number;
  /** Silence within the body. The time that a slow reader takes does not count. */
  idleMs?: number;
  /** Up to the end of the body. */
  totalMs?: number;
}

export interface BodyLimits {
  totalBytes: number;
  /** The most bytes without a line feed. */
  lineBytes?: number;
}

export const limitsFor = (limits: HttpRequest['limits'], head: AnswerHead): BodyLimits =>
  typeof limits === 'function' ? limits(head) : limits;

export interface AnswerHead {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>;
}

/** Any status is an answer. The body must be read to its end or destroyed. */
export interface HttpAnswer extends AnswerHead {
  /** A stream that fails with OutboundError, or with the signal's reason. */
  body: Dispatcher.ResponseData['body'];
}

/**
 * Sends one request and returns its answer as soon as the headers have come. Throws OutboundError, or the signal's reason.
 * The failures `unreachable` and `bad_certificate` say that nothing was sent, if the dispatcher's connector throws them.
 */
export const sendRequest = async (
  url: string | URL,
  { method = 'GET', headers, body = null, closes = false, timeouts, signal, limits }: HttpRequest,
  dispatcher: Dispatcher,
): Promise<HttpAnswer> => {
  const deadline = startDeadlineOf({ timeouts, signal });
  const guarded = dispatcher.compose(
    (dispatch) => (options, handler) => dispatch(options, guard(handler, { deadline, timeouts, limits })),
  );
  try {
    deadline.signal.throwIfAborted();
    const answering = guarded.request({
      ...toDispatch(url, headers),
      method,
      body,
      reset: closes,
      signal: deadline.signal,
    });
    // While it connects, undici does not hear an abort.
    const answer = await Promise.race([answering, deadline.expired]);
    // A body that is destroyed after its last byte has come fails although nobody reads it.
    answer.body.on('error', () => undefined).once('close', deadline.end);
    return { status: answer.statusCode, headers: answer.headers, body: answer.body };
  } catch (error) {
    deadline.end();
    throw deadline.signal.aborted ? deadline.signal.reason : toOutboundError(error);
  }
};

export interface ReceiveRequest extends HttpRequest {
  /**
   * Takes the bytes of the body as they come. Returns true when it has what it wants: then the rest, if it is short, is
   * read away, so that the connection can be used again. When it throws, the connection is closed and the call fails so.
   */
  onData: (chunk: Buffer, head: AnswerHead) => boolean;
}

/** Limits what is read and dropped behind the wanted part of an answer. */
const leftover = { bytes: 65_536, ms: 1_000 };

/** Leaves the rest of an answer. A short rest is read and dropped, so that the connection can be used again. */
export const leaveBody = (body: HttpAnswer['body']): void => {
  body.dump({ limit: leftover.bytes, signal: AbortSignal.timeout(leftover.ms) }).catch(() => body.destroy());
};

/** Hands over an answer as it comes. Throws OutboundError, the signal's reason, or what `onData` throws. */
export const receive = async (
  url: string | URL,
  { method = 'GET', headers, body = null, timeouts, signal, limits, onData }: ReceiveRequest,
  dispatcher: Dispatcher,
): Promise<AnswerHead> => {
  signal?.throwIfAborted();
  const deadline = startDeadlineOf({ timeouts, signal });
  const received = Promise.withResolvers<AnswerHead>();
  let head: AnswerHead = { status: 0, headers: {} };
  let connection: Dispatcher.DispatchController | null = null;
  let leaving: NodeJS.Timeout | undefined;
  let unwantedBytes = 0;
  const fail = (error: unknown): void => {
    deadline.end();
    clearTimeout(leaving);
    received.reject(error);
  };
  deadline.signal.addEventListener('abort', () => {
    fail(deadline.signal.reason);
    connection?.abort(deadline.signal.reason);
  });
  const take = (controller: Dispatcher.DispatchController, chunk: Buffer): void => {
    if (leaving === undefined) {
      if (!onData(chunk, head)) return;
      leaving = setTimeout(() => controller.abort(tooLarge(leftover.bytes)), leftover.ms).unref();
      received.resolve(head);
    } else {
      unwantedBytes += chunk.length;
      if (unwantedBytes > leftover.bytes) controller.abort(tooLarge(leftover.bytes));
    }
  };
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: (controller) => {
      connection = controller;
      if (deadline.signal.aborted) controller.abort(deadline.signal.reason);
    },
    onResponseStart: (_controller, status, answered) => {
      head = { status, headers: answered };
    },
    onResponseData: (controller, chunk) => {
      try {
        take(controller, chunk);
      } catch (error) {
        deadline.abort(error);
      }
    },
    onResponseEnd: () => {
      deadline.end();
      clearTimeout(leaving);
      received.resolve(head);
    },
    onResponseError: (_controller, error) => fail(error),
  };
  dispatcher.dispatch(
    { ...toDispatch(url, headers), method, body },
    guard(handler, { deadline, timeouts, limits }),
  );
  return received.promise;
};

const startDeadlineOf = ({ timeouts, signal }: Pick<HttpRequest, 'timeouts' | 'signal'>): Deadline =>
  startDeadline({
    totalMs: timeouts.totalMs,
    signals: signal === undefined || signal === null ? [] : [signal],
    toError: (ms) => tooLate(`it took longer than ${ms} ms`, { isCut: true }),
  });

const toDispatch = (url: string | URL, headers: HttpRequest['headers']) => {
  const { origin, pathname, search } = new URL(url);
  // Bytes are counted as they come, so nothing may be compressed.
  return { origin, path: pathname + search, headers: { ...headers, 'accept-encoding': 'identity' } };
};

interface Guard extends Pick<HttpRequest, 'timeouts' | 'limits'> {
  deadline: Deadline;
}

/** Counts the bytes and the silence of an answer on its way to undici's own handler. */
const guard = (
  handler: Dispatcher.DispatchHandler,
  { deadline, timeouts, limits: chosen }: Guard,
): Dispatcher.DispatchHandler => {
  let limits: BodyLimits = { totalBytes: Infinity };
  let totalBytes = 0;
  let lineBytes = 0;
  const { firstByteMs, idleMs } = timeouts;
  const isFirstLate = (): void =>
    deadline.abort(tooLate(`no byte of the answer came within ${firstByteMs} ms`));
  let silence = firstByteMs === undefined ? undefined : setTimeout(isFirstLate, firstByteMs);
  const watchSilence = (controller: Dispatcher.DispatchController): void => {
    clearTimeout(silence);
    const isSilent = (): void => {
      if (controller.paused) silence?.refresh();
      else deadline.abort(tooLate(`nothing more came within ${idleMs} ms`));
    };
    silence = idleMs === undefined ? undefined : setTimeout(isSilent, idleMs);
  };
  deadline.signal.addEventListener('abort', () => clearTimeout(silence), { once: true });
  return {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onResponseStart: (controller, status, headers, statusMessage) => {
      limits = typeof chosen === 'function' ? chosen({ status, headers }) : chosen;
      handler.onResponseStart?.(controller, status, headers, statusMessage);
    },
    onResponseData: (controller, chunk) => {
      if (totalBytes === 0) watchSilence(controller);
      else silence?.refresh();
      totalBytes += chunk.length;
      const lastLineFeed = limits.lineBytes === undefined ? 0 : chunk.lastIndexOf(10);
      lineBytes = lastLineFeed < 0 ? lineBytes + chunk.length : chunk.length - lastLineFeed - 1;
      if (totalBytes > limits.totalBytes || (limits.lineBytes !== undefined && lineBytes > limits.lineBytes))
        deadline.abort(tooLarge(limits.totalBytes));
      else handler.onResponseData?.(controller, chunk);
    },
    onResponseEnd: (controller, trailers) => {
      clearTimeout(silence);
      handler.onResponseEnd?.(controller, trailers);
    },
    onResponseError: (controller, error) => {
      clearTimeout(silence);
      handler.onResponseError?.(controller, toOutboundError(error));
    },
  };
};

const tooLate = (how: string, options?: { isCut: boolean }): OutboundError =>
  new OutboundError('timeout', `The call reached its timeout: ${how}.`, options);

export const tooLarge = (maxBytes: number): OutboundError =>
  new OutboundError('too_large', `The answer is larger than ${maxBytes} bytes.`);

/** An error that is not the connector's own broke a connection that stood. */
const toOutboundError = (cause: unknown): OutboundError =>
  cause instanceof OutboundError
    ? cause
    : new OutboundError('broken_off', 'The connection was closed before the answer ended.', { cause });

/** Reads a body as text, also gzip and deflate, which some proxies send unasked. Throws if it has more than `maxBytes`. */
export const readText = async ({ headers, body }: HttpAnswer, maxBytes: number): Promise<string> => {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return body.text();
  const bytes = await promisify(unzip)(await body.bytes(), { maxOutputLength: maxBytes });
  return bytes.toString('utf8');
};

/** An HTTP date in the preferred or one of the two obsolete forms (RFC 9110, 5.6.7). All are in UTC. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .+\d\d:\d\d:\d\d/;

/** Reads a `Retry-After` header, seconds or a date. Returns the milliseconds to wait from `now`; undefined if it is neither. */
export const retryAfterMs = (header: unknown, now: number): number | undefined => {
  if (typeof header !== 'string') return undefined;
  const text = header.trim();
  const date = httpDate.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1_000 : date - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), Number.MAX_SAFE_INTEGER);
};
