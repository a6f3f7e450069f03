import type { ServerResponse } from 'node:http';

/**
 * Returns a signal that aborts when the client leaves before it has the whole answer, and a promise that resolves when
 * the response is over, either way.
 */
export const watchClient = (response: ServerResponse) => {
  const gone = new AbortController();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new Error('the client has gone'));
    resolve();
  });
  return { signal: gone.signal, closed };
};
