import type { Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { unlessAborted } from './deadline.ts';

/**
 * Reads the first bytes of a source, fewer than `length` only if it ends. `body` yields all bytes, also those of `head`,
 * and closes the source when its reader stops. `close` closes it in place of reading `body`. Throws the source's error.
 */
export const peekStream = async <Chunk extends Uint8Array>(source: AsyncIterable<Chunk>, length: number) => {
  const chunks = source[Symbol.asyncIterator]();
  const close = async (): Promise<void> => void (await chunks.return?.());
  const read: Uint8Array[] = [];
  for (let bytes = 0; bytes < length;) {
    const next = await chunks.next();
    if (next.done === true) break;
    read.push(next.value);
    bytes += next.value.length;
  }
  const head = Buffer.concat(read);
  const readOn = async function* (): AsyncGenerator<Buffer | Chunk, void, undefined> {
    try {
      yield head;
      yield* { [Symbol.asyncIterator]: () => chunks };
    } finally {
      await close();
    }
  };
  return { head, body: readOn(), close };
};

/** Yields the same bytes and adds them to the hash. */
export const digesting = async function* (
  source: AsyncIterable<Uint8Array>,
  hash: Hash,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of source) {
    hash.update(chunk);
    yield chunk;
  }
};

/** Yields the chunks. Throws the signal's reason at once, also while the source is silent. Closes an unfinished source. */
export const untilAborted = async function* (
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  let isAtEnd = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      // A promise for each chunk: a race against one long-lived promise would keep every chunk in memory.
      const next = await unlessAborted(iterator.next(), signal);
      if (next.done === true) {
        isAtEnd = true;
        return;
      }
      yield next.value;
    }
  } finally {
    if (!isAtEnd) void closeSource(source, iterator);
  }
};

/** Closes the source. Do not await it, because a source may hang. */
const closeSource = async (
  source: AsyncIterable<Uint8Array>,
  iterator: AsyncIterator<Uint8Array>,
): Promise<void> => {
  try {
    if (source instanceof Readable) source.destroy();
    await iterator.return?.();
  } catch {
    // The reason of the end is already thrown.
  }
};

/** Reads a whole body; null if it is larger. Rejects when its sender has gone. */
export const readBody = async (request: IncomingMessage, maxBytes: number): Promise<Buffer | null> => {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The connection is needed for the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};
