import type { ServerResponse } from 'node:http';
import { toAppError, type AppError } from './errors.ts';
import { logFailure } from './log-failure.ts';
import type { Log } from './log.ts';
import { writeJson } from './write-json.ts';

/** The form of a 422: the error envelope, a list in `detail`, or both. */
export type ValidationForm = 'envelope' | 'detail' | 'both';

export interface WriteErrorOptions {
  log: Log;
  requestId: string;
  /** Names the kind of call in the log. */
  what?: string;
  /** The form of a 422 of this endpoint. */
  validation?: ValidationForm;
}

/** Answers a refused or failed call in the contract's form. The stack and cause go only to the log. */
export const writeError = (
  response: ServerResponse,
  thrown: unknown,
  { log, requestId, what = 'a call', validation = 'envelope' }: WriteErrorOptions,
): void => {
  const error = toAppError(thrown);
  logFailure(log, error, { what, facts: { requestId } });
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
