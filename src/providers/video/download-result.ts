import type { ProviderTimeouts } from '../remote-settings.ts';
import { OutboundError, type Outbound } from '../../http/outbound.ts';
import { ProviderError } from '../provider-error.ts';
import { pacedBody } from './paced-body.ts';

/** The largest results that are taken over from an upstream. */
export const largestResult = { video: 2 * 1024 ** 3, last_frame: 64 * 1024 ** 2 };

/** A result from an address that an upstream named, which only the guarded way out reaches. Throws ProviderError. */
export const downloadResult = async (
  url: string,
  part: 'video' | 'last_frame',
  options: { outbound: Pick<Outbound, 'download'>; timeouts: ProviderTimeouts; signal: AbortSignal },
): Promise<AsyncGenerator<Uint8Array, void, undefined>> => {
  const { outbound, timeouts, signal } = options;
  const maxBytes = largestResult[part];
  const toFailure = (error: unknown): unknown => (signal.aborted ? signal.reason : toResultFailure(error));
  try {
    const { totalMs } = timeouts;
    const { body } = await outbound.download(url, { lane: 'results', maxBytes, totalMs, signal });
    return pacedBody(body, { maxBytes, idleMs: timeouts.idleMs, toFailure });
  } catch (error) {
    throw toFailure(error);
  }
};

/** The task is done and its result is still there: fetching it may be tried again. */
const toResultFailure = (error: unknown): unknown =>
  error instanceof OutboundError
    ? new ProviderError(`the upstream's result could not be fetched: ${error.message}`, {
        failure: 'retry_same',
        code: 'upstream_error',
        cause: error,
      })
    : error;
