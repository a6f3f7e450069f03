import type { ServerResponse } from 'node:http';
import { errorHeaders } from '../kit/error-headers.ts';
import { toAppError, type AppError } from '../kit/errors.ts';
import { logFailure } from '../kit/log-failure.ts';
import type { Log } from '../kit/log.ts';
import type { RestBinding } from '../operations/operation.ts';
import { writeJson } from './write-json.ts';

export interface WriteErrorOptions {
  log: Log;
  requestId: string;
  /** The form of a 422 of this endpoint. */
  validation?: RestBinding['validation'];
}

/** Answers a refused or failed call in the contract's form. The stack and cause go only to the log. */
export const writeError = (
  response: ServerResponse,
  thrown: unknown,
  { log, requestId, validation = 'envelope' }: WriteErrorOptions,
): void => {
  const error = toAppError(thrown);
  logFailure(log, error, { what: 'a call', facts: { requestId } });
  if (response.headersSent) {
    response.destroy();
    return;
  }
  writeJson(response, {
    status: error.status,
    headers: errorHeaders(error),
    body: errorBody(error, validation),
  });
};

const errorBody = (error: AppError, validation: RestBinding['validation']): object => {
  const envelope = { error: error.toEnvelope() };
  if (error.status !== 422 || validation === 'envelope') return envelope;
  const detail = error.issues ?? [
    {
      loc: ['body', ...(error.param === undefined ? [] : [error.param])],
      msg: error.message,
      type: 'value_error',
    },
  ];
  return validation === 'detail' ? { detail } : { detail, ...envelope };
};
