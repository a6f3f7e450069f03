import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { toAppError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import { logFailure } from '../kit/write-answer.ts';
import { toErrorResult } from './tool-result.ts';

interface Failed {
  /** What was being done, for the log. */
  what: string;
  facts: Record<string, unknown>;
  /** Of the client. */
  signal: AbortSignal;
  log: Log;
}

/** Makes an error of the protocol, which carries its envelope as a tool error does, and logs it. */
export const toProtocolFault = (thrown: unknown, { what, facts, signal, log }: Failed): ProtocolError => {
  if (thrown instanceof ProtocolError) return thrown;
  const error = toAppError(thrown);
  const code =
    error.status >= 500 || error.status === 429
      ? ProtocolErrorCode.InternalError
      : ProtocolErrorCode.InvalidParams;
  logFailure(log, error, { what, facts, isClientGone: signal.aborted });
  return new ProtocolError(code, error.message, toErrorResult(error).structuredContent);
};
