import { Worker } from 'node:worker_threads';

/** Why a task gave no result. */
export type WorkerPoolFailure = 'full' | 'timeout' | 'failed' | 'closed';

export class WorkerPoolError extends Error {
  override readonly name = 'WorkerPoolError';
  readonly reason: WorkerPoolFailure;

  constructor(reason: WorkerPoolFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

export interface WorkerPoolOptions {
  /** The worker's module; it answers each message with one WorkerReply. */
  file: URL;
  /** How many threads at most; they start when first needed. */
  size: number;
  /** How many tasks may wait for a thread; one more is refused. */
  queueLimit: number;
  /** How long a task may run; then its thread is ended. */
  timeoutMs: number;
  /** The heap of one thread; a task above it fails alone. */
  maxHeapMb: number;
}

/** What a worker posts for each message it gets. */
export type WorkerReply<Output> = { output: Output } | { failure: string };

/** Runs tasks off the event loop. Rejects with WorkerPoolError, or with the signal's reason. */
export interface WorkerPool<Input, Output> {
  run(input: Input, signal: AbortSignal): Promise<Output>;
  /** Ends all threads; tasks under way are rejected. */
  close(): Promise<void>;
}

interface Task<Input, Output> {
  input: Input;
  resolve(output: Output): void;
  reject(error: unknown): void;
}

interface Thread<Input, Output> {
  worker: Worker;
  task: Task<Input, Output> | null;
  timer: NodeJS.Timeout | null;
}

/** A fixed set of worker threads with a bounded queue, one task a thread at a time. */
export const createWorkerPool = <Input, Output>(options: WorkerPoolOptions): WorkerPool<Input, Output> => {
  const threads = new Set<Thread<Input, Output>>();
  const queue: Task<Input, Output>[] = [];
  let isClosed = false;

  const startThread = (): Thread<Input, Output> => {
    const worker = new Worker(options.file, {
      // The parent's flags and environment are no business of a thread that only computes.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: options.maxHeapMb },
    });
    const thread: Thread<Input, Output> = { worker, task: null, timer: null };
    worker.unref();
    worker.on('message', (reply: WorkerReply<Output>) => {
      const task = release(thread);
      if ('output' in reply) task?.resolve(reply.output);
      else task?.reject(new WorkerPoolError('failed', reply.failure));
      startNext();
    });
    worker.on('error', (error) =>
      drop(thread, new WorkerPoolError('failed', 'a worker thread failed', error)),
    );
    worker.on('exit', () => drop(thread, new WorkerPoolError('failed', 'a worker thread ended')));
    threads.add(thread);
    return thread;
  };

  const release = (thread: Thread<Input, Output>): Task<Input, Output> | null => {
    const { task } = thread;
    if (thread.timer !== null) clearTimeout(thread.timer);
    thread.task = null;
    thread.timer = null;
    thread.worker.unref();
    return task;
  };

  const drop = (thread: Thread<Input, Output>, error: WorkerPoolError): void => {
    if (!threads.delete(thread)) return;
    release(thread)?.reject(error);
    void thread.worker.terminate();
    startNext();
  };

  const startNext = (): void => {
    if (isClosed || queue.length === 0) return;
    const idle = [...threads].find((thread) => thread.task === null);
    if (idle === undefined && threads.size >= options.size) return;
    const task = queue.shift();
    if (task === undefined) return;
    const thread = idle ?? startThread();
    thread.task = task;
    thread.worker.ref();
    thread.timer = setTimeout(
      () => drop(thread, new WorkerPoolError('timeout', `a task took more than ${options.timeoutMs} ms`)),
      options.timeoutMs,
    );
    thread.worker.postMessage(task.input);
  };

  const forget = (task: Task<Input, Output>): void => {
    const position = queue.indexOf(task);
    if (position >= 0) queue.splice(position, 1);
  };

  return {
    run: async (input, signal) => {
      signal.throwIfAborted();
      if (isClosed) throw new WorkerPoolError('closed', 'the worker pool is closed');
      if (queue.length >= options.queueLimit) throw new WorkerPoolError('full', 'too many tasks are waiting');
      const { promise, resolve, reject } = Promise.withResolvers<Output>();
      const task = { input, resolve, reject };
      const onAbort = (): void => {
        forget(task);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.push(task);
      startNext();
      try {
        return await promise;
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    close: async () => {
      isClosed = true;
      const error = new WorkerPoolError('closed', 'the worker pool is closed');
      for (const task of queue.splice(0)) task.reject(error);
      const ending = [...threads].map((thread) => {
        threads.delete(thread);
        release(thread)?.reject(error);
        return thread.worker.terminate();
      });
      await Promise.all(ending);
    },
  };
};
