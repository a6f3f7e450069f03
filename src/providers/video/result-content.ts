import type { Readable } from 'node:stream';
import { OutboundError, type Outbound } from '../../http/outbound.ts';
import { peekStream } from '../../kit/peek-stream.ts';
import { imageContentType } from '../image/input-image-type.ts';
import { ProviderError } from '../provider-error.ts';
import type { ProviderTimeouts } from '../remote-settings.ts';
import { videoContentType } from './content-type.ts';
import type { VideoContent } from './video-provider.ts';

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
const toResultFailure = (error: unknown): unknown =>
  error instanceof OutboundError
    ? new ProviderError(`the upstream's result could not be fetched: ${error.message}`, {
        failure: 'retry_same',
        cause: error,
      })
    : error;

/** The bytes that are enough to tell a type. */
const headBytes = 12;

/** Reads the type of a file from its first bytes. Returns null for a file of another kind, and reads no more of it. */
export const toContent = async (
  part: 'video' | 'last_frame',
  source: AsyncIterable<Uint8Array>,
): Promise<VideoContent | null> => {
  const { head, body, close } = await peekStream(source, headBytes);
  const contentType = part === 'video' ? videoContentType(head) : imageContentType(head);
  if (contentType !== null) return { contentType, body };
  await close();
  return null;
};
