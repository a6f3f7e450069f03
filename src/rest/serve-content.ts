import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../kit/log.ts';
import type { ContentAnswer } from '../operations/answer.ts';
import { createStreamMedium, type StreamMediumOptions } from './stream-medium.ts';
import { writeError } from '../kit/write-answer.ts';

/** By default 64 contents are streamed at once. */
export interface ServeContentOptions extends Partial<Omit<StreamMediumOptions, 'library'>> {
  media: StreamMediumOptions['library'];
  log: Log;
}

/** A medium that belongs to the caller, which was checked before, and the request for it: GET or HEAD. */
type ServeContentInput = Omit<ContentAnswer, 'kind'> & {
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
};

export type ServeContent = ReturnType<typeof createServeContent>;

/**
 * Streams a medium to its owner, whole or one range of it. Also writes refusals: 416 `range_not_satisfiable`, 502
 * `upstream_error`, 503 `overloaded`. Resolves when the answer has ended, and never rejects.
 */
export const createServeContent = ({ media: library, log, ...options }: ServeContentOptions) => {
  const streamMedium = createStreamMedium({ library, streams: 64, ...options });
  return async (input: ServeContentInput): Promise<void> => {
    const { media, request, response, requestId, fileName, whenMissing } = input;
    try {
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
