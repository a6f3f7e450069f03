import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../kit/clock.ts';
import { AppError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import { isGone } from '../media/is-gone.ts';
import type { MediaLibrary } from '../media/media-library.ts';
import type { ContentAnswer } from '../operations/operation.ts';
import type { Media } from '../store/store.ts';
import { contentDisposition } from './content-disposition.ts';
import { createStreamMedium } from './stream-medium.ts';
import { writeError } from './write-error.ts';
import { stalledReaderMs } from './write-events.ts';

export interface ServeContentOptions {
  media: Pick<MediaLibrary, 'read'>;
  clock: Clock;
  log: Log;
  /** The number of contents that this process streams at once. */
  streams?: number;
  /** After how long a reader that takes nothing is let go; a minute. */
  stalledMs?: number;
  /** What a reader takes at least, on average of that time; 16 KiB. */
  leastBytesPerSecond?: number;
}

export interface ServeContentInput {
  /** Of the caller's own; that is checked already. */
  media: Media;
  /** GET or HEAD. */
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
  /** By which the reader saves it. */
  fileName: string;
  whenMissing?: ContentAnswer['whenMissing'];
}

export type ServeContent = (input: ServeContentInput) => Promise<void>;

/**
 * Streams a medium to its owner, whole or one range of it. Writes its refusals itself: 410 `content_expired`,
 * 416 `range_not_satisfiable`, 502 `upstream_error`, 503 `overloaded`. Resolves when the answer has ended, and never rejects.
 */
export const createServeContent = ({
  media: library,
  clock,
  log,
  streams = 64,
  stalledMs = stalledReaderMs,
  leastBytesPerSecond,
}: ServeContentOptions): ServeContent => {
  const streamMedium = createStreamMedium({
    library,
    streams,
    stalledReaderMs: stalledMs,
    leastBytesPerSecond,
  });
  return async ({ media, request, response, requestId, fileName, whenMissing }) => {
    try {
      if (isGone(media, clock.now()))
        throw new AppError(
          'content_expired',
          'The content was kept for its time and is gone. Make it again.',
        );
      await streamMedium({
        media,
        reader: media.accountId,
        request,
        response,
        headers: { 'cache-control': 'private', 'content-disposition': contentDisposition(fileName) },
        whenMissing,
      });
    } catch (error) {
      writeError(response, error, { log, requestId });
    }
  };
};
