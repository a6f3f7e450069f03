import { Worker } from 'node:worker_threads';
import { createFairShareLimiter } from '../fair-share-limiter.ts';
import { unlessAborted } from '../deadline.ts';
import { connectThread, type Thread, ThreadError } from './connect-thread.ts';

export interface ThreadPoolOptions {
  /** The threads' module, which serves calls (serve-calls.ts). */
  file: URL;
  /** The most threads. They start when first needed. */
  size: number;
  /** The tasks that may wait for a thread; one more is refused. */
  queueLimit: number;
  /** The longest run of a task; then its thread is ended. The start of a thread does not count. */
  timeoutMs: number;
  /** The heap of one thread; a task above it fails alone. */
  maxHeapMb: number;
}

/** Runs tasks off the event loop. Rejects with ThreadError, or with the signal's reason. */
export interface ThreadPool<Input, Output> {
  /** A task that runs is not stopped by an abort, which would cost its thread: its outcome is dropped. */
  run(input: Input, signal: AbortSignal): Promise<Output>;
  /** Ends all threads; tasks under way are rejected. */
  close(): Promise<void>;
}

/** The longest start of a thread. On a busy machine it takes seconds to load its modules. */
const startTimeoutMs = 60_000;

/** A fixed number of threads with a bounded queue. A thread has one task at a time. */
export const createThreadPool = <Input, Output>({
  file,
  size,
  queueLimit,
  timeoutMs,
  maxHeapMb,
}: ThreadPoolOptions): ThreadPool<Input, Output> => {
  const threads = new Set<Thread<Input, Output>>();
  const idle = new Set<(input: Input) => Promise<Output>>();
  const limiter = createFairShareLimiter({
    total: size,
    queue: { total: queueLimit, refusal: () => new ThreadError('full', 'too many tasks are waiting') },
  });
  let isClosed = false;
  const closedError = (): ThreadError => new ThreadError('closed', 'the thread pool is closed');

  /** Returns a function that runs one task in a new thread. */
  const startThread = (): ((input: Input) => Promise<Output>) => {
    const worker = new Worker(file, {
      // A thread that only computes needs nothing of the parent's flags and environment.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    const thread = connectThread<Input, Output>(worker, {
      name: 'a thread of the pool',
      timeoutMs,
      endsOnTimeout: true,
    });
    const serving = Promise.withResolvers<void>();
    worker.once('message', () => serving.resolve());
    const starting = setTimeout(() => {
      void thread.end(
        new ThreadError('timeout', `a thread of the pool did not start in ${startTimeoutMs} ms`),
      );
    }, startTimeoutMs).unref();
    void serving.promise.then(() => clearTimeout(starting));
    let isOver = false;
    threads.add(thread);
    void thread.ended.then(() => {
      isOver = true;
      serving.resolve();
      threads.delete(thread);
      idle.delete(run);
    });
    const run = async (input: Input): Promise<Output> => {
      idle.delete(run);
      worker.ref();
      try {
        await serving.promise;
        return await thread.call(input);
      } finally {
        worker.unref();
        if (!isOver) idle.add(run);
      }
    };
    return run;
  };

  return {
    run: async (input, signal) => {
      if (isClosed) throw closedError();
      const release = await limiter.acquire({}, { signal });
      if (isClosed) {
        release();
        throw closedError();
      }
      const [run = startThread()] = idle;
      return unlessAborted(run(input).finally(release), signal);
    },
    close: async () => {
      isClosed = true;
      await Promise.all([...threads].map((thread) => thread.end(closedError())));
    },
  };
};
