import { pipeline } from 'node:stream/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { MediaFiles } from '../media/disk-media.ts';
import type { Store } from '../store/store.ts';
import { writeError } from './write-error.ts';
import { stalledReaderMs } from './write-events.ts';

export interface ServeResultOptions {
  store: Pick<Store, 'getMedia'>;
  files: MediaFiles;
  clock: Clock;
  log: Log;
}

/** A result URL's last part: the media id with its extension. */
const namePattern = /^([0-9A-Za-z]{20,64})\.(?:png|jpg|webp)$/;

const noSuchResult = (): AppError => new AppError('not_found', 'There is no result at this address.');

/** Serves the bytes behind a result URL. The URL is the whole authority: it needs no key and cannot be guessed. */
export const createServeResult =
  ({ store, files, clock, log }: ServeResultOptions) =>
  async (
    name: string,
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): Promise<void> => {
    try {
      const id = namePattern.exec(name)?.[1];
      const media = id === undefined ? null : await store.getMedia(id);
      if (media === null) throw noSuchResult();
      const secondsLeft = Math.floor((media.expiresAt - clock.now()) / 1000);
      if (secondsLeft <= 0)
        throw new AppError(
          'content_expired',
          'This result was kept for its time and is gone. Make it again.',
        );
      const headers = {
        'content-type': media.contentType,
        'content-length': media.sizeBytes,
        'cache-control': `public, max-age=${Math.min(secondsLeft, 86_400)}, immutable`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'",
        etag: `"${media.id}"`,
      };
      if (request.headers['if-none-match'] === headers.etag) {
        response.writeHead(304, { etag: headers.etag, 'cache-control': headers['cache-control'] }).end();
        return;
      }
      const bytes = await files.read(media.id);
      if (bytes === null) throw new Error(`the bytes of media ${media.id} are missing`);
      response.setTimeout(stalledReaderMs, () => response.destroy());
      response.writeHead(200, headers);
      if (request.method === 'HEAD') {
        bytes.destroy();
        response.end();
      } else await pipeline(bytes, response);
    } catch (error) {
      if (isGone(error) || response.destroyed) return;
      writeError(response, error, { log, requestId });
    }
  };

/** The reader closed the connection before the end: nothing is wrong here. */
const isGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
