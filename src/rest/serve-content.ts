import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../kit/clock.ts';
import { AppError, messages } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import { isGone, type MediaLibrary } from '../media/media-library.ts';
import type { ContentAnswer } from '../operations/answer.ts';
import { createStreamMedium } from './stream-medium.ts';
import { writeError } from '../kit/write-answer.ts';
import { stalledReaderMs } from './write-events.ts';

export interface ServeContentOptions {
  media: Pick<MediaLibrary, 'read'>;
  clock: Clock;
  log: Log;
  /** Maximum number of contents that this process streams at once. */
  streams?: number;
  /** A reader that takes nothing for this long is cut off. Default: a minute. */
  stalledMs?: number;
  /** Minimum rate of a reader, averaged over `stalledMs`. Default: 16 KiB. */
  leastBytesPerSecond?: number;
}

/** A medium that belongs to the caller, which was checked before, and the request for it: GET or HEAD. */
type ServeContentInput = Omit<ContentAnswer, 'kind'> & {
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
};

export type ServeContent = ReturnType<typeof createServeContent>;

/**
 * Streams a medium to its owner, whole or one range of it. Also writes refusals: 410 `content_expired`, 416
 * `range_not_satisfiable`, 502 `upstream_error`, 503 `overloaded`. Resolves when the answer has ended, and never
 * rejects.
 */
export const createServeContent = ({
  media: library,
  clock,
  log,
  streams = 64,
  stalledMs = stalledReaderMs,
  leastBytesPerSecond,
}: ServeContentOptions) => {
  const streamMedium = createStreamMedium({
    library,
    streams,
    stalledReaderMs: stalledMs,
    leastBytesPerSecond,
  });
  return async (input: ServeContentInput): Promise<void> => {
    const { media, request, response, requestId, fileName, whenMissing } = input;
    try {
      if (isGone(media, clock.now())) throw new AppError('content_expired', messages.content_expired);
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

const longestName = 150;

/** Makes the Content-Disposition header that saves the content under this name (RFC 6266). */
export const contentDisposition = (fileName: string): string => {
  const name = fileName.slice(0, longestName).toWellFormed();
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/g, '_');
  const exact = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${exact}`}`;
};
