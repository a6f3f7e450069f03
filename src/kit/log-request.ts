import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from './log.ts';

/** What is found out about a request while it is served, for its line in the log. */
export interface RequestNote {
  account?: string;
  /** The MCP method, and the tool that it calls. */
  call?: string;
}

const maxPathLength = 200;

/** The text without API keys. */
export const withoutKeys = (text: string): string => text.replace(/sk(?:_|%5f)[a-z]+(?:_|%5f)\w+/gi, 'sk_*');

/** The path as the log shows it: without the query, API keys, and the names of results, which anybody may open. */
const shownPath = (url: string): string | null =>
  url.startsWith('/')
    ? withoutKeys(url.replace(/[?#].*/s, '').replace(/^\/+(?:results|[^/]*%[^/]*)\/.+/i, '/results/*')).slice(
        0,
        maxPathLength,
      )
    : null;

/** Writes one line to the log when the response has ended: at `info`, for health checks at `debug`. */
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
        // Null: the client went away before it got an answer.
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
