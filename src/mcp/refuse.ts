import type { ServerResponse } from 'node:http';
import { errorHeaders } from '../error-headers.ts';
import { toAppError } from '../errors.ts';
import type { Log } from '../log.ts';

/** Answers a request that never reached the protocol, with the error envelope of the whole service. */
export const refuse = (
  response: ServerResponse,
  thrown: unknown,
  { log, requestId }: { log: Log; requestId: string },
): void => {
  const error = toAppError(thrown);
  if (error.status >= 500)
    log.error({ err: error.cause ?? error, requestId, code: error.code }, 'a request to /mcp failed');
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(error.status, {
    'content-type': 'application/json; charset=utf-8',
    ...errorHeaders(error),
  });
  response.end(JSON.stringify({ error: error.toEnvelope() }));
};
