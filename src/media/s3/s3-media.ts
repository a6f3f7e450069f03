import {
  createS3Client,
  defaultS3Limits,
  nullWhenMissing,
  type S3Answer,
  type S3Body,
  S3Error,
  type S3Limits,
  toS3Body,
} from '../../http/s3/s3-client.ts';
import type { S3Config } from '../../http/s3/s3-settings.ts';
import type { Log } from '../../kit/log.ts';
import { type ReadFree, roomStepBytes, withRoom } from '../../kit/disk.ts';
import { removeOldFiles } from '../../kit/files.ts';
import { checkedMediaId, unfinished, type MediaFiles } from '../media-files.ts';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { digesting, untilAborted } from '../../kit/streams.ts';
import { createMemoryBudget } from '../../limits/memory-budget.ts';

/** An empty object. Its time is the first use of the bucket and prefix. */
const markName = 'used-since';
/** Time limit for the clean-up after a failed write. */
const undoMs = 10_000;

export interface S3MediaOptions {
  log: Log;
  /** Where streams are on their way to the bucket. */
  spool: SpoolOptions;
  limits?: Partial<S3Limits>;
}

/** Keeps media in a bucket of S3 or a compatible service, addressed by path. */
export const createS3Media = (
  config: S3Config,
  { log, spool: spoolOptions, limits }: S3MediaOptions,
): MediaFiles => {
  const client = createS3Client(config, { ...defaultS3Limits, ...limits });
  const spool = createSpool(spoolOptions);
  const keyOf = (id: string): string => config.prefix + checkedMediaId(id);

  const removeObject = async (key: string, signal?: AbortSignal): Promise<void> => {
    await client.call({ method: 'DELETE', key, signal });
  };

  const put = async (
    key: string,
    body: S3Body,
    { contentType, signal }: { contentType: string; signal: AbortSignal },
  ): Promise<number> => {
    try {
      await client.call({ method: 'PUT', key, headers: { 'content-type': contentType }, body, signal });
      return body.sizeBytes;
    } catch (error) {
      // The service may have stored it nevertheless. The sweep removes what this cannot remove now.
      await removeObject(key, AbortSignal.timeout(undoMs)).catch((err: unknown) =>
        log.warn({ err }, 'a failed write to the media bucket could not be cleaned up yet'),
      );
      throw error;
    }
  };

  return {
    place: `s3://${config.bucket}/${config.prefix}`,
    write: async (id, source, options) => {
      const key = keyOf(id);
      options.signal.throwIfAborted();
      return source instanceof Uint8Array
        ? put(key, await toS3Body(source), options)
        : spool.hold(id, { source, signal: options.signal }, (body) => put(key, body, options));
    },
    size: async (id, { signal } = {}) => {
      const key = keyOf(id);
      const answer = await nullWhenMissing(client.call({ method: 'HEAD', key, signal }), null);
      if (answer !== null) return Number(answer.header('content-length'));
      const opened = await nullWhenMissing(client.open({ method: 'GET', key, signal }));
      opened?.body.destroy();
      return opened === null ? null : Number(opened.header('content-length'));
    },
    read: async (id, { range, sizeBytes = 0, signal } = {}) => {
      const headers: Record<string, string> =
        range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` };
      const answer = await nullWhenMissing(client.open({ method: 'GET', key: keyOf(id), headers, signal }));
      if (answer === null) return null;
      if (range !== undefined && answer.status !== 206) {
        answer.body.destroy();
        throw new S3Error('the answer to GET object ignored the requested range', {
          status: answer.status,
          code: null,
        });
      }
      const size = answer.header('content-range')?.split('/')[1] ?? answer.header('content-length');
      if (size === null || !(Number(size) < sizeBytes)) return answer.body;
      answer.body.destroy();
      return null;
    },
    remove: (id, { signal } = {}) => removeObject(keyOf(id), signal),
    removeLeftovers: spool.removeLeftovers,
    check: async ({ signal }) => {
      await client.call({ method: 'HEAD', key: null, signal });
    },
    usedSince: async ({ signal } = {}) => {
      const key = config.prefix + markName;
      const readMark = (): Promise<number | null> =>
        nullWhenMissing(client.call({ method: 'GET', key, signal }).then(modifiedAt));
      const found = await readMark();
      if (found !== null) return found;
      await client.call({ method: 'PUT', key, body: await toS3Body(new Uint8Array()), signal });
      return (await readMark()) ?? Date.now();
    },
    close: () => client.close(),
  };
};

const modifiedAt = ({ header }: S3Answer): number => {
  const at = Date.parse(header('last-modified') ?? '');
  if (Number.isNaN(at))
    throw new S3Error('the answer to GET object has no valid Last-Modified', { status: 200, code: null });
  return at;
};

export interface SpoolOptions {
  directory: string;
  /** The largest object. One more byte is an error. */
  maxObjectBytes?: number;
  totalBytes?: number;
  readFree?: ReadFree;
}

/** S3 takes no larger object in one request. */
const largestObject = 5 * 1024 ** 3;
const usualTotalBytes = 8 * 1024 ** 3;
/** As long as a job waits for the storage. */
const longestWaitMs = 600_000;

/** Keeps streams on the disk on their way to a bucket, because a request to S3 begins with the size and hash of its body. */
export const createSpool = ({
  directory,
  maxObjectBytes = largestObject,
  totalBytes = usualTotalBytes,
  readFree,
}: SpoolOptions) => {
  const space = createMemoryBudget({ totalBytes, longestWaitMs });

  /** Yields the chunks, and reserves room for each before it is written. The function in `releases` gives it back. */
  const counted = async function* (
    source: AsyncIterable<Uint8Array>,
    { signal, size, releases }: Counting,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of untilAborted(source, signal)) {
      size.bytes += chunk.byteLength;
      if (size.bytes > maxObjectBytes)
        throw new RangeError(
          `the medium has more than ${maxObjectBytes} bytes, which the bucket does not take`,
        );
      for (let held = releases.length * roomStepBytes; held < size.bytes; held += roomStepBytes)
        releases.push(await space.reserve(roomStepBytes, { signal, heldBytes: held }));
      yield chunk;
    }
  };

  return {
    /**
     * Calls `use` with the bytes, and removes their file afterwards. Waits while the spool is full. Throws RangeError for an
     * object that is too large, ENOSPC before the disk is full, AppError `overloaded`, or the error of source or signal.
     */
    hold: async <Result>(
      id: string,
      { source, signal }: { source: AsyncIterable<Uint8Array>; signal: AbortSignal },
      use: (body: S3Body) => Promise<Result>,
    ): Promise<Result> => {
      const file = join(directory, id + unfinished);
      const size = { bytes: 0 };
      const releases: (() => void)[] = [];
      const hash = createHash('sha256');
      try {
        await mkdir(directory, { recursive: true });
        await pipeline(
          digesting(withRoom(counted(source, { signal, size, releases }), directory, readFree), hash),
          createWriteStream(file, { flags: 'wx', mode: 0o600 }),
        );
        return await use({
          sizeBytes: size.bytes,
          sha256: hash.digest('hex'),
          read: () => createReadStream(file),
        });
      } finally {
        await rm(file, { force: true });
        for (const release of releases) release();
      }
    },
    removeLeftovers: (options: { olderThan: number; signal: AbortSignal }): Promise<number> =>
      removeOldFiles(directory, { ...options, ending: unfinished }),
  };
};

interface Counting {
  signal: AbortSignal;
  size: { bytes: number };
  releases: (() => void)[];
}
