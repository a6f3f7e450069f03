import type { Outbound } from '../../http/outbound.ts';
import type { ProviderTimeouts } from '../remote-settings.ts';
import { resultBody, toResultFailure } from './result-body.ts';

/** The largest results that are taken over from an upstream. */
export const largestResult = { video: 2 * 1024 ** 3, last_frame: 64 * 1024 ** 2 };

/** Downloads a result from an address that an upstream named, through the guarded client. Throws ProviderError. */
export const downloadResult = async (
  url: string,
  part: 'video' | 'last_frame',
  options: { outbound: Pick<Outbound, 'download'>; timeouts: ProviderTimeouts; signal: AbortSignal },
): Promise<AsyncGenerator<Uint8Array, void, undefined>> => {
  const { outbound, timeouts, signal } = options;
  const { idleMs, totalMs } = timeouts;
  try {
    const maxBytes = largestResult[part];
    const { body } = await outbound.download(url, { lane: 'results', maxBytes, idleMs, totalMs, signal });
    return resultBody(body, signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : toResultFailure(error);
  }
};
