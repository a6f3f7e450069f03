import { Readable } from 'node:stream';

/**
 * The chunks of a source, until the signal aborts: then its reason is thrown at once, also while the source is silent.
 * A source that is not read to its end is let go.
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
    if (!isAtEnd) void letGo(source, iterator);
  }
};

/** A promise of its own for each chunk: a race against one long-lived promise would keep every chunk in memory. */
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

/** Not waited for: a source that hangs would hold up whoever gave up on it. */
const letGo = async (
  source: AsyncIterable<Uint8Array>,
  iterator: AsyncIterator<Uint8Array>,
): Promise<void> => {
  try {
    if (source instanceof Readable) source.destroy();
    await iterator.return?.();
  } catch {
    // The reason why the reading ended is thrown already; what the source says to its end adds nothing.
  }
};
