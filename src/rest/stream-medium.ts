import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../kit/errors.ts';
import { createFairShareLimiter } from '../kit/fair-share-limiter.ts';
import type { ByteRange } from '../media/media-files.ts';
import type { MediaLibrary } from '../media/media-library.ts';
import type { Media } from '../store/store.ts';
import { parseByteRange } from './byte-range.ts';
import { isIfRangeMet, isNoneMatch } from './entity-tag.ts';
import { createPatience, type Patience } from './patience.ts';

export interface StreamMediumOptions {
  library: Pick<MediaLibrary, 'read'>;
  /**
   * How many are under way at once in this process at most, and a quarter of them for one reader; one more is refused with
   * `overloaded`.
   */
  streams: number;
  /** A reader that takes nothing for so long is let go, */
  stalledReaderMs: number;
  /** and one that takes less than this on average of so long; 16 KiB unless told. */
  leastBytesPerSecond?: number | undefined;
}

export interface StreamMediumInput {
  media: Pick<Media, 'id' | 'contentType' | 'sizeBytes'>;
  /** By whom the stream is counted: an account, or a network. */
  reader: string;
  request: Pick<IncomingMessage, 'method' | 'headers'>;
  response: ServerResponse;
  /** Beside those of content, ranges and the tag; lower case names. */
  headers: Record<string, string>;
  /** Asked for the refusal when the bytes are not there, which a try again would not mend. */
  whenMissing?: () => Promise<AppError>;
}

/** A tenth of what a slow mobile line carries. */
const usualLeastBytesPerSecond = 16 * 1024;

/**
 * Answers GET and HEAD with a medium, whole or one range of it, at the reader's pace, or with 304. Throws AppError
 * `range_not_satisfiable`, `overloaded`, and `upstream_error` when the bytes are not there or break off; once the answer
 * has begun, its connection is cut then. A reader who leaves ends it without an error.
 */
export const createStreamMedium = ({
  library,
  streams,
  stalledReaderMs,
  leastBytesPerSecond = usualLeastBytesPerSecond,
}: StreamMediumOptions) => {
  const limiter = createFairShareLimiter({ total: streams });

  const stream = async (
    range: ByteRange,
    { media, reader, response, whenMissing }: StreamMediumInput,
    begin: () => void,
  ): Promise<void> => {
    const release = limiter.tryAcquire({ owner: reader });
    if (release === null)
      throw new AppError(
        'overloaded',
        'Too many downloads are under way. Try again after the seconds in Retry-After.',
      );
    const gone = new AbortController();
    const leave = (): void => gone.abort(new Error('the reader has gone'));
    response.once('close', leave);
    const patience = createPatience({
      longestMs: stalledReaderMs,
      leastBytesPerSecond,
      onOver: () => response.destroy(),
    });
    try {
      const bytes = await openBytes({ library, id: media.id, range, signal: gone.signal, whenMissing });
      begin();
      await pipeline(bytes, exactly(range.end - range.start + 1, patience), response);
    } catch (error) {
      if (error === gone.signal.reason || isReaderGone(error)) return;
      throw error instanceof AppError ? error : brokenOff(error);
    } finally {
      patience.end();
      response.off('close', leave);
      release();
    }
  };

  return async (input: StreamMediumInput): Promise<void> => {
    const { media, request, response } = input;
    if (response.destroyed) return;
    const etag = `"${media.id}"`;
    const headers = { ...input.headers, etag, 'accept-ranges': 'bytes', 'x-content-type-options': 'nosniff' };
    if (isNoneMatch(request.headers['if-none-match'], etag)) {
      response.writeHead(304, headers).end();
      return;
    }
    const isRanged = request.method === 'GET' && isIfRangeMet(request.headers['if-range']?.toString(), etag);
    const range = parseByteRange(isRanged ? request.headers.range : undefined, media.sizeBytes);
    if (range === 'unsatisfiable') throw notSatisfiable(media.sizeBytes);
    const begin = (): void => {
      const content = { ...headers, 'content-type': media.contentType };
      if (range === 'whole') response.writeHead(200, { ...content, 'content-length': media.sizeBytes });
      else
        response.writeHead(206, {
          ...content,
          'content-length': range.end - range.start + 1,
          'content-range': `bytes ${range.start}-${range.end}/${media.sizeBytes}`,
        });
    };
    if (request.method === 'HEAD' || media.sizeBytes === 0) {
      begin();
      response.end();
      return;
    }
    await stream(range === 'whole' ? { start: 0, end: media.sizeBytes - 1 } : range, input, begin);
  };
};

/** The bytes, with the first of them there to be read. */
const openBytes = async ({
  library,
  id,
  range,
  signal,
  whenMissing = () => Promise.resolve(brokenOff(new Error('the bytes of a medium are missing'))),
}: {
  library: Pick<MediaLibrary, 'read'>;
  id: string;
  range: ByteRange;
  signal: AbortSignal;
  whenMissing: StreamMediumInput['whenMissing'];
}): Promise<Readable> => {
  const bytes = await library.read(id, { range, signal });
  if (bytes === null) throw await whenMissing();
  if (!bytes.destroyed) await once(bytes, 'readable');
  if (bytes.readableLength > 0) return bytes;
  bytes.destroy();
  throw bytes.errored ?? new Error('a medium has no byte where its row says so');
};

/** Lets through what should come, and fails when it ends sooner: the reader could not tell it from a slow line. */
const exactly = (length: number, patience: Patience) =>
  async function* (bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let left = length;
    for await (const chunk of bytes) {
      left -= chunk.byteLength;
      patience.begin();
      // Until the connection takes more.
      yield chunk;
      patience.took(chunk.byteLength);
    }
    // What it has not taken yet is on its way to it.
    patience.begin();
    if (left !== 0) throw new Error(`a medium ended ${left} bytes early`);
  };

/** Its connection was closed, by the reader or because it stalled: nothing is wrong on this side. */
const isReaderGone = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'ERR_STREAM_PREMATURE_CLOSE' ||
    error.code === 'ERR_STREAM_DESTROYED' ||
    error.code === 'ABORT_ERR');

const brokenOff = (cause: unknown): AppError =>
  new AppError('upstream_error', 'The content could not be read. Try again.', { cause });

const notSatisfiable = (size: number): AppError =>
  new AppError(
    'range_not_satisfiable',
    'Range must name one range of bytes within the content, such as "bytes=0-1023". Leave it out for all of it.',
    { headers: { 'content-range': `bytes */${size}`, 'accept-ranges': 'bytes' } },
  );
