import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../kit/clock.ts';
import { AppError } from '../kit/errors.ts';
import { addressBucket } from '../limits/address-limiter.ts';
import { extensionOf, isGone, type MediaLibrary } from '../media/media-library.ts';
import type { Media, MediaRole, Store } from '../store/store.ts';
import { createStreamMedium } from './stream-medium.ts';

export interface ServeResultOptions {
  store: Pick<Store, 'getMedia'>;
  media: Pick<MediaLibrary, 'read' | 'size'>;
  clock: Clock;
  /** Maximum number of readers at once in this process. Each has an open file or a connection to the bucket. */
  streams?: number;
}

export interface ServeResultInput {
  /** GET or HEAD. */
  request: IncomingMessage;
  response: ServerResponse;
  /** The address that the trusted proxies report. */
  clientAddress: string;
}

/** The last part of a result URL: the media id with its extension. */
const namePattern = /^([0-9A-Za-z]{20,64})\.([0-9a-z]{2,4})$/;
/** Media that anybody with the URL may read. Only its owner may read a video. */
const openRoles: readonly MediaRole[] = ['image', 'input'];
const longestCacheSeconds = 86_400;

/**
 * Serves the bytes of a result URL. The URL needs no key and cannot be guessed. Throws as `createStreamMedium`, and AppError
 * `not_found` or `content_expired`.
 */
export const createServeResult = ({ store, media: library, clock, streams = 512 }: ServeResultOptions) => {
  const streamMedium = createStreamMedium({ library, streams });

  /** Returns the size of an input, whose row does not have it. */
  const sizeOf = async (id: string): Promise<number> => {
    const size = await library.size(id);
    if (size === null)
      throw new AppError('upstream_error', 'The content could not be read. Try again.', {
        cause: new Error('the bytes of an input are missing'),
      });
    return size;
  };

  const find = async (name: string): Promise<Media> => {
    const [, id, extension] = namePattern.exec(name) ?? [];
    const media = id === undefined ? null : await store.getMedia(id);
    const isHere =
      media !== null &&
      media.jobId !== null &&
      openRoles.includes(media.role) &&
      extensionOf(media.contentType) === extension;
    if (!isHere) throw new AppError('not_found', 'There is no result at this address.');
    if (isGone(media, clock.now()))
      throw new AppError('content_expired', 'This result was kept for its time and is gone. Make it again.');
    return media.sizeBytes > 0 ? media : { ...media, sizeBytes: await sizeOf(media.id) };
  };

  return async (name: string, { request, response, clientAddress }: ServeResultInput): Promise<void> => {
    const media = await find(name);
    const secondsLeft = Math.floor((media.expiresAt - clock.now()) / 1000);
    await streamMedium({
      media,
      reader: addressBucket(clientAddress),
      request,
      response,
      headers: {
        'cache-control': `public, max-age=${Math.min(secondsLeft, longestCacheSeconds)}, immutable`,
        'content-security-policy': "default-src 'none'",
      },
    });
  };
};
