import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from './log.ts';

/** Facts for a request's log line that are found while it is served. */
export interface RequestNote {
  account?: string;
  operatorKey?: string;
  /** The MCP method and tool. */
  call?: string;
  trace_id?: string;
  span_id?: string;
}

const maxPathLength = 200;

/**
 * A whole secret has 43 characters. A part of a key begins a word or follows an escaped character, unlike the middle of
 * `shop_delete_orders`. Four characters of its secret are only its display form, which names it.
 */
const keyPattern =
  /(?:(?=..(?:_|%5f)[a-z]+(?:_|%5f)\w{40})|(?<![a-z])|(?<=%[\da-f]{2}))(sk|op)(?:_|%5f)[a-z]+(?:_|%5f)\w{5,}/gi;

/** Masks API keys, operator keys and the addresses of films in a text. */
export const withoutKeys = (text: string): string =>
  text.replace(keyPattern, '$1_*').replace(/(films(?:\/|%2f)+)[^\s?#]+/gi, '$1*');

/** Removes from a path what must not be in the log: the query, API keys, and names of results, which anybody may open. */
const shownPath = (url: string): string | null =>
  url.startsWith('/')
    ? withoutKeys(url.replace(/[?#].*/s, '').replace(/^\/+(?:results|[^/]*%[^/]*)\/.+/i, '/results/*')).slice(
        0,
        maxPathLength,
      )
    : null;

/** Logs one line when the response has ended: at `info`, for health checks at `debug`. */
export const logRequest = (
  { method, url = '/' }: IncomingMessage,
  response: ServerResponse,
  { log, requestId }: { log: Log; requestId: string },
): RequestNote => {
  const note: RequestNote = {};
  const startedAt = performance.now();
  response.once('close', () => {
    const path = shownPath(url);
    log[path?.startsWith('/health/') === true ? 'debug' : 'info'](
      {
        requestId,
        method,
        path,
        // Null: the client left before it got an answer.
        status: response.headersSent ? response.statusCode : null,
        ms: Math.round(performance.now() - startedAt),
        ...note,
        ...(response.writableFinished ? {} : { isCutOff: true }),
      },
      'request',
    );
  });
  return note;
};

/** Returns a signal that aborts when the client leaves early, and a promise that resolves when the response is over. */
export const watchClient = (response: ServerResponse) => {
  const gone = new AbortController();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new Error('the client has gone'));
    resolve();
  });
  return { signal: gone.signal, closed };
};
