import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../kit/errors.ts';
import { createFairShareLimiter } from '../kit/fair-share-limiter.ts';
import type { ByteRange } from '../media/media-files.ts';
import type { MediaLibrary } from '../media/media-library.ts';
import type { Media } from '../store/store.ts';
import { createThroughputGuard, type ThroughputGuard } from './throughput-guard.ts';
import { stalledReaderMs } from '../kit/write-answer.ts';

export interface StreamMediumOptions {
  library: Pick<MediaLibrary, 'read'>;
  /**
   * Maximum number of streams at once in this process; one reader gets at most a quarter of them. One more is refused
   * with `overloaded`.
   */
  streams: number;
  /** A reader that takes nothing for this long is cut off. Default: a minute. */
  stalledMs?: number;
  /** A reader below this rate, averaged over `stalledMs`, is cut off. Default: 16 KiB. */
  leastBytesPerSecond?: number;
}

export interface StreamMediumInput {
  media: Pick<Media, 'id' | 'contentType' | 'sizeBytes'>;
  /** The account or network that the stream counts for. */
  reader: string;
  request: Pick<IncomingMessage, 'method' | 'headers'>;
  response: ServerResponse;
  /** Headers beside those of content, ranges and the tag; lower case names. */
  headers: Record<string, string>;
  /** Makes the refusal for missing bytes, if a retry would not help. */
  whenMissing?: () => Promise<AppError>;
}

/** A tenth of the rate of a slow mobile line. */
const usualLeastBytesPerSecond = 16 * 1024;

/**
 * Answers GET and HEAD with a medium, whole or one range of it, at the reader's speed, or with 304. Throws AppError
 * `range_not_satisfiable`, `overloaded`, or `upstream_error` if bytes are missing or break off. If the answer has
 * begun by then, the caller cuts the connection. A reader that leaves is not an error.
 */
export const createStreamMedium = ({
  library,
  streams,
  stalledMs = stalledReaderMs,
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
    const guard = createThroughputGuard({
      longestMs: stalledMs,
      leastBytesPerSecond,
      onOver: () => response.destroy(),
    });
    try {
      const bytes = await openBytes({ library, media, range, signal: gone.signal, whenMissing });
      begin();
      await pipeline(bytes, exactly(range.end - range.start + 1, guard), response);
    } catch (error) {
      if (error === gone.signal.reason || isReaderGone(error)) return;
      throw error instanceof AppError ? error : brokenOff(error);
    } finally {
      guard.end();
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

/** Opens the bytes, and waits until the first of them can be read. */
const openBytes = async ({
  library,
  media: { id, sizeBytes },
  range,
  signal,
  whenMissing = () => Promise.resolve(brokenOff(new Error('the bytes of a medium are missing'))),
}: {
  library: Pick<MediaLibrary, 'read'>;
  media: Pick<Media, 'id' | 'sizeBytes'>;
  range: ByteRange;
  signal: AbortSignal;
  whenMissing: StreamMediumInput['whenMissing'];
}): Promise<Readable> => {
  const bytes = await library.read(id, { range, sizeBytes, signal });
  if (bytes === null) throw await whenMissing();
  if (!bytes.destroyed) await once(bytes, 'readable');
  if (bytes.readableLength > 0) return bytes;
  bytes.destroy();
  throw bytes.errored ?? new Error('a medium is shorter than its row says');
};

/** Passes the bytes on. Throws if there are too few or too many, because the reader would take that for a slow line. */
const exactly = (length: number, guard: ThroughputGuard) =>
  async function* (bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let left = length;
    for await (const chunk of bytes) {
      left -= chunk.byteLength;
      guard.begin();
      // Continues when the connection takes more.
      yield chunk;
      guard.took(chunk.byteLength);
    }
    // The last bytes are still on the way to the reader.
    guard.begin();
    if (left !== 0) throw new Error(`a medium ended ${left} bytes early`);
  };

/** True if the reader closed the connection, or it was closed because the reader stalled. */
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
    'Range must name one range of bytes within the content, such as "bytes=0-1023". Omit it to get the whole content.',
    { headers: { 'content-range': `bytes */${size}`, 'accept-ranges': 'bytes' } },
  );

/** True if If-None-Match contains the tag or `*`: the reader has these bytes. A weak tag matches a strong one here. */
const isNoneMatch = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  header.split(',').some((part) => {
    const tag = part.trim();
    return tag === '*' || tag === etag || tag === `W/${etag}`;
  });

/**
 * True if a Range applies: without If-Range, or if it is exactly our strong tag. A date never matches, because we send
 * none.
 */
const isIfRangeMet = (header: string | undefined, etag: string): boolean =>
  header === undefined || header.trim() === etag;

const onePattern = /^bytes=(\d*)-(\d*)$/i;
/** A unit other than bytes, which a server must ignore (RFC 9110, 14.2). */
const otherUnitPattern = /^(?!bytes=)[!#$%&'*+.^_`|~\w-]+=/i;

/**
 * Reads a Range header for `size` bytes. Returns `whole` without one, or for another unit than bytes. Returns
 * `unsatisfiable` for several ranges, for a malformed header, and for a range outside `size`.
 */
export const parseByteRange = (
  header: string | undefined,
  size: number,
): ByteRange | 'whole' | 'unsatisfiable' => {
  if (header === undefined || otherUnitPattern.test(header)) return 'whole';
  const [, first = '', last = ''] = onePattern.exec(header) ?? [];
  if (first === '' && last === '') return 'unsatisfiable';
  const range =
    first === ''
      ? { start: Math.max(0, size - Number(last)), end: size - 1 }
      : { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
  return range.start <= range.end ? range : 'unsatisfiable';
};
