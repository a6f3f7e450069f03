import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { S3Body } from '../../http/s3/s3-body.ts';
import { digesting } from '../../kit/digesting.ts';
import { untilAborted } from '../../kit/until-aborted.ts';
import { createMemoryBudget } from '../../limits/memory-budget.ts';
import { removeOldWrites, unfinishedName } from '../remove-old-writes.ts';

export interface SpoolOptions {
  directory: string;
  /** The largest object. One more byte is an error. */
  maxObjectBytes?: number;
  /** The most that all files have together. */
  totalBytes?: number;
  /** Returns the free bytes of the disk with a folder. */
  readFree?: (directory: string) => Promise<number>;
}

/** S3 takes no larger object in one request. */
const largestObject = 5 * 1024 ** 3;
const usualTotalBytes = 8 * 1024 ** 3;
/** Room is reserved in steps, because the size of a stream is known only at its end. */
const stepBytes = 64 * 1024 ** 2;
/** Stays free on the disk, because the ledger is usually on the same one. */
const keptFreeBytes = 256 * 1024 ** 2;
/** As long as a job waits for the storage. */
const longestWaitMs = 600_000;

/** Keeps streams on the disk on their way to a bucket, because a request to S3 begins with the size and hash of its body. */
export const createSpool = ({
  directory,
  maxObjectBytes = largestObject,
  totalBytes = usualTotalBytes,
  readFree = readFreeBytes,
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
      for (let heldBytes = releases.length * stepBytes; heldBytes < size.bytes; heldBytes += stepBytes) {
        releases.push(await space.reserve(stepBytes, { signal, heldBytes }));
        if ((await readFree(directory)) < keptFreeBytes + stepBytes) throw noRoom(directory);
      }
      yield chunk;
    }
  };

  return {
    /**
     * Calls `use` with the bytes of the source, and removes their file afterwards. Waits while the files of others fill the
     * spool. Throws RangeError for an object that is too large, an error with the code ENOSPC before the disk is full,
     * AppError `overloaded`, the source's own error, or the signal's reason.
     */
    hold: async <Result>(
      id: string,
      { source, signal }: { source: AsyncIterable<Uint8Array>; signal: AbortSignal },
      use: (body: S3Body) => Promise<Result>,
    ): Promise<Result> => {
      const file = join(directory, unfinishedName(id));
      const size = { bytes: 0 };
      const releases: (() => void)[] = [];
      const hash = createHash('sha256');
      try {
        await mkdir(directory, { recursive: true });
        await pipeline(
          digesting(counted(source, { signal, size, releases }), hash),
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
    /** Removes files that a killed process left behind. Returns how many. */
    removeLeftovers: (options: { olderThan: number; signal: AbortSignal }): Promise<number> =>
      removeOldWrites(directory, options),
  };
};

interface Counting {
  signal: AbortSignal;
  size: { bytes: number };
  releases: (() => void)[];
}

const readFreeBytes = async (directory: string): Promise<number> => {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
};

const noRoom = (directory: string): Error =>
  Object.assign(new Error(`the disk of ${directory} is nearly full`), { code: 'ENOSPC' });
