import type { ServerResponse } from 'node:http';
import { errorHeaders } from '../kit/error-headers.ts';
import { toAppError } from '../kit/errors.ts';
import { logFailure } from '../kit/log-failure.ts';
import type { Log } from '../kit/log.ts';

/** Answers a request that never reached the protocol, with the error envelope of the whole service. */
export const refuse = (
  response: ServerResponse,
  thrown: unknown,
  { log, requestId }: { log: Log; requestId: string },
): void => {
  const error = toAppError(thrown);
  logFailure(log, error, { what: 'a request to /mcp', facts: { requestId } });
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
