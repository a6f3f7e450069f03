import type { Log } from '../../kit/log.ts';
import { ThreadError } from '../../kit/threads/thread-error.ts';
import { createThreadPool } from '../../kit/threads/thread-pool.ts';
import { sliceText } from './slices.ts';

export type TokenCounter = ReturnType<typeof createTokenCounter>;

/**
 * Counts tokens (o200k_base) in a worker thread, as loading the vocabulary alone takes 0.2 s. A text above
 * 131,072 UTF-16 units is estimated from an evenly spread sample of that size. A count is never above the
 * text's UTF-8 bytes, and the same text has the same count unless the worker is overloaded.
 */
export const createTokenCounter = ({ log }: { log: Log }) => {
  const pool = createThreadPool<string[][], number[]>({
    file: new URL('./worker.ts', import.meta.url),
    size: 1,
    queueLimit: 1_000,
    timeoutMs: 10_000,
    maxHeapMb: 512,
  });
  return {
    /** Returns the number of tokens of each text. Throws only the signal's reason. */
    count: async (texts: readonly string[], signal: AbortSignal): Promise<number[]> => {
      const sliced = texts.map(sliceText);
      try {
        const counts = await pool.run(
          sliced.map(({ slices }) => slices),
          signal,
        );
        return sliced.map(({ scale }, index) => {
          const counted = counts[index] ?? 0;
          return scale === 1 ? counted : atMostBytes(texts[index] ?? '', Math.ceil(counted * scale));
        });
      } catch (error) {
        if (!(error instanceof ThreadError)) throw error;
        log.warn({ err: error }, 'tokens are estimated, as the counting thread gave no answer');
        return texts.map(roughTokens);
      }
    },
    close: () => pool.close(),
  };
};

/** English text has about four characters a token. */
const roughTokens = (text: string): number => Math.ceil(text.length / 4);

/** A token has at least one byte. A sample of a text in two scripts might count more. */
const atMostBytes = (text: string, tokens: number): number => Math.min(tokens, Buffer.byteLength(text));
