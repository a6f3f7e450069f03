import type { Readable } from 'node:stream';

/** The bytes from `start` to `end`, both included, counted from 0. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface ReadMediaOptions {
  range?: ByteRange;
  /** Also ends a stream that is under way. */
  signal?: AbortSignal;
}

/**
 * Where the bytes of inputs and results are kept. Ids are ours: 20 to 64 base62 characters, never a caller's text;
 * another one is a RangeError. Memory does not grow with the size of a medium.
 */
export interface MediaFiles {
  /** For people: a folder, or `s3://BUCKET/PREFIX`. */
  readonly place: string;
  /**
   * Durable when it resolves, with the size in bytes; when it rejects, nothing is left. A source is read at the pace at
   * which it is kept; what it throws is thrown on as it is, and so is the signal's reason.
   */
  write(
    id: string,
    source: Uint8Array | AsyncIterable<Uint8Array>,
    options: { contentType: string; signal: AbortSignal },
  ): Promise<number>;
  /** In bytes; null when there are no such bytes any more; rejects when that cannot be known. */
  size(id: string, options?: { signal?: AbortSignal }): Promise<number | null>;
  /** Null when there are no such bytes any more; rejects when that cannot be known. The stream emits an error when it breaks off. */
  read(id: string, options?: ReadMediaOptions): Promise<Readable | null>;
  /** Durable when it resolves; so is the removal of what is not there. */
  remove(id: string, options?: { signal?: AbortSignal }): Promise<void>;
  /** Removes what writes that began before `olderThan` (epoch milliseconds) left when their process died; answers how many. */
  removeLeftovers(options: { olderThan: number; signal: AbortSignal }): Promise<number>;
  /** Resolves when the place answers; throws otherwise. */
  check(options: { signal: AbortSignal }): Promise<void>;
  /**
   * Since when this place has been used (epoch milliseconds); who asks first marks it. What was written before is in another
   * place, if anywhere: that it is not here does not say that it is lost.
   */
  usedSince(options?: { signal?: AbortSignal }): Promise<number>;
  close(): Promise<void>;
}

const idPattern = /^[0-9A-Za-z]{20,64}$/;

/** The id, when it is one: it becomes part of paths and keys. */
export const checkedMediaId = (id: string): string => {
  if (!idPattern.test(id)) throw new RangeError('a media id is 20 to 64 base62 characters');
  return id;
};
