import { createThreadPool } from '../../kit/threads/thread-pool.ts';
import { readAnswer, type AnswerToRead, type ReadAnswer } from './read-answer.ts';

/** Any answer of this size is parsed within two milliseconds. Starting a thread takes longer. */
const maxBytesHere = 128 * 1024;
const threads = 2;
/** More than the number of calls at once. */
const queueLimit = 128;
/**
 * A hostile answer takes about fifty times its bytes when it is parsed. This is enough for the largest answer that the
 * settings allow: V8 may end the whole process when a thread runs out of memory within one call.
 */
const maxHeapMb = 512;

/** Reads answers of upstreams without blocking the event loop: large ones are read in a thread. */
export const createAnswerReader = ({ timeoutMs }: { timeoutMs: number }) => {
  const pool = createThreadPool<AnswerToRead, ReadAnswer | null>({
    file: new URL('./worker.ts', import.meta.url),
    size: threads,
    queueLimit,
    timeoutMs,
    maxHeapMb,
  });
  return {
    /** Returns null if the answer is not JSON with the list. Throws ThreadError, or the signal's reason. */
    read: async (answer: AnswerToRead, signal: AbortSignal): Promise<ReadAnswer | null> =>
      answer.bytes.byteLength > maxBytesHere ? pool.run(answer, signal) : readAnswer(answer),
    close: () => pool.close(),
  };
};
