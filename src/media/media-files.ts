import type { Readable } from 'node:stream';

/** The bytes from `start` to `end`, both included, counted from 0. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface ReadMediaOptions {
  range?: ByteRange;
  /** The size of the whole medium. With fewer bytes it is gone. */
  sizeBytes?: number;
  /** Also ends a stream that is under way. */
  signal?: AbortSignal;
}

/**
 * The storage of the bytes of inputs and results. An id has 20 to 64 base62 characters and never comes from a caller;
 * other ids throw RangeError. Memory does not grow with the size of a medium.
 */
export interface MediaFiles {
  /** For people: a folder, or `s3://BUCKET/PREFIX`. */
  readonly place: string;
  /**
   * Writes the bytes durably and resolves with their size. Leaves nothing behind if it rejects. Reads the source only
   * as fast as it can write. Rejects with the source's own error or the signal's reason.
   */
  write(
    id: string,
    source: Uint8Array | AsyncIterable<Uint8Array>,
    options: { contentType: string; signal: AbortSignal },
  ): Promise<number>;
  /** Returns the size in bytes, null if the bytes are gone. Rejects if the storage cannot tell. */
  size(id: string, options?: { signal?: AbortSignal }): Promise<number | null>;
  /** Returns null if bytes are gone. Rejects if the storage cannot tell. The stream emits an error if it ends too early. */
  read(id: string, options?: ReadMediaOptions): Promise<Readable | null>;
  /** Removes the bytes durably; resolves also if there are none. */
  remove(id: string, options?: { signal?: AbortSignal }): Promise<void>;
  /** Removes unfinished writes of dead processes that began before `olderThan` (epoch milliseconds). Returns how many. */
  removeLeftovers(options: { olderThan: number; signal: AbortSignal }): Promise<number>;
  /** Resolves if the storage answers; throws otherwise. */
  check(options: { signal: AbortSignal }): Promise<void>;
  /** Epoch milliseconds of the first use, which the first call marks. Older media were written elsewhere. */
  usedSince(options?: { signal?: AbortSignal }): Promise<number>;
  close(): Promise<void>;
}

/** The ending of the name of a file while it is written. */
export const unfinished = '.tmp';

const idPattern = /^[0-9A-Za-z]{20,64}$/;

/** Returns the id, or throws RangeError if it is not one. Ids become parts of paths and keys. */
export const checkedMediaId = (id: string): string => {
  if (!idPattern.test(id)) throw new RangeError('a media id is 20 to 64 base62 characters');
  return id;
};
