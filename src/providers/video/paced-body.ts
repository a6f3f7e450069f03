import type { Readable } from 'node:stream';
import { ProviderError } from '../provider-error.ts';

export interface PacedBodyOptions {
  maxBytes: number;
  /** How long the upstream may send nothing. The time that the reader takes does not count. */
  idleMs: number;
  /** Whatever the body failed with, as what is thrown on. */
  toFailure: (error: unknown) => unknown;
  /** Called once, when the body ended, failed or was not wanted any more. */
  onEnd?: () => void;
}

/** A body at the reader's pace, that fails when it stalls or grows too large. A reader that stops early ends it. */
export const pacedBody = async function* (
  body: Readable,
  { maxBytes, idleMs, toFailure, onEnd }: PacedBodyOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
  let bytes = 0;
  try {
    for (;;) {
      const next = await nextWithin(chunks, body, idleMs);
      if (next.done === true) return;
      bytes += next.value.length;
      if (bytes > maxBytes) throw broken(`the upstream's file is larger than ${maxBytes} bytes`);
      yield next.value;
    }
  } catch (error) {
    throw toFailure(error);
  } finally {
    body.destroy();
    onEnd?.();
  }
};

const nextWithin = async (
  chunks: AsyncIterator<Uint8Array>,
  body: Readable,
  idleMs: number,
): Promise<IteratorResult<Uint8Array>> => {
  const timer = setTimeout(() => {
    body.destroy(broken(`the upstream sent nothing of a file within ${idleMs} ms`));
  }, idleMs);
  try {
    return await chunks.next();
  } finally {
    clearTimeout(timer);
  }
};

/** The file can be fetched again. */
const broken = (message: string): ProviderError =>
  new ProviderError(message, { failure: 'retry_same', code: 'upstream_error' });
