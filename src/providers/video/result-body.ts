import type { Readable } from 'node:stream';
import { OutboundError } from '../../http/outbound.ts';
import { ProviderError } from '../provider-error.ts';

/** Reads a result at the reader's pace. A reader that stops early ends the body. Throws ProviderError, or the signal's reason. */
export const resultBody = async function* (
  body: Readable,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body;
  } catch (error) {
    throw signal.aborted ? signal.reason : toResultFailure(error);
  }
};

/** Maps a failure of a download: the task is done and its result is still there, so that it can be fetched again. */
export const toResultFailure = (error: unknown): unknown =>
  error instanceof OutboundError
    ? new ProviderError(`the upstream's result could not be fetched: ${error.message}`, {
        failure: 'retry_same',
        cause: error,
      })
    : error;
