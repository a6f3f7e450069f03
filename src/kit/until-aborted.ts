import { Readable } from 'node:stream';

/**
 * Yields the chunks of a source. Throws the signal's reason as soon as it aborts, also while the source is silent.
 * Closes a source that was not read to its end.
 */
export const untilAborted = async function* (
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  let isAtEnd = false;
  try {
    for (;;) {
      const next = await nextOf(iterator, signal);
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

/** Makes a new promise for each chunk. A race against one long-lived promise would keep every chunk in memory. */
const nextOf = (
  iterator: AsyncIterator<Uint8Array>,
  signal: AbortSignal,
): Promise<IteratorResult<Uint8Array>> =>
  new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    iterator
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop));
  });

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
