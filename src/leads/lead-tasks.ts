import { PassThrough, Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { Worker } from 'node:worker_threads';
import { unlessAborted } from '../kit/deadline.ts';
import { AppError, messages, type ErrorCode } from '../kit/errors.ts';
import { createFairShareLimiter } from '../kit/fair-share-limiter.ts';
import { ThreadError } from '../kit/threads/connect-thread.ts';
import type { StoreSettings } from '../store/store-settings.ts';
import type { InputProgress, LeadInputOptions, RejectedRow } from './import/input-options.ts';
import type { ImportedProfiles, ImportRequest, LeadIndex, LeadStats } from './lead-index.ts';

export interface StreamImport
  extends
    Pick<ImportRequest, 'mode'>,
    Pick<LeadInputOptions, 'columns' | 'defaults' | 'delimiter' | 'hasHeader' | 'maxRejected'> {
  format?: 'csv' | 'jsonl' | undefined;
}

export interface ImportedStream extends ImportedProfiles {
  input: InputProgress;
  firstRejected: readonly RejectedRow[];
}

export type LeadTasks = ReturnType<typeof createLeadTasks>;

export type LeadTask =
  /** The methods of an index. The first two are of all people. */
  | { kind: 'stats' | 'sweep' | 'forget' | 'remember'; usernames: readonly string[] }
  | { kind: 'import'; options: StreamImport; body: ReadableStream };

/** The data of a thread. */
export interface TaskOrder {
  settings: StoreSettings;
  task: LeadTask;
}

export type TaskAnswer = { output: unknown } | { error: { code: ErrorCode; message: string } };

const tasksAtOnce = 4;
/** A hostile file ends its own thread. */
const maxHeapMb = 1_024;

type Names = readonly string[];

/**
 * Changes the profiles beside a gateway that serves them: each task in a thread of its own, as an index blocks its thread
 * for long. Rejects with AppError.
 */
export const createLeadTasks = ({ dataDir, databaseUrl, databaseDirectUrl }: StoreSettings) => {
  // A thread cannot be sent all settings of a gateway.
  const settings = { dataDir, databaseUrl, databaseDirectUrl };
  const limiter = createFairShareLimiter({ total: tasksAtOnce });
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const start = async (task: LeadTask): Promise<unknown> => {
    const answer = runInThread({ settings, task }, closing.signal);
    running.add(answer);
    try {
      return await answer;
    } finally {
      running.delete(answer);
    }
  };
  const run = async <T>(task: LeadTask): Promise<T> => {
    const release = limiter.tryAcquire({});
    if (release === null)
      throw new AppError('overloaded', 'Other work on the profiles is under way. Try again.', {
        retryAfterSeconds: 5,
      });
    try {
      return (await start(task)) as T;
    } finally {
      release();
    }
  };
  return {
    stats: (): Promise<LeadStats> => run({ kind: 'stats', usernames: [] }),
    forget: (usernames: Names): ReturnType<LeadIndex['forget']> => run({ kind: 'forget', usernames }),
    remember: (usernames: Names): ReturnType<LeadIndex['remember']> => run({ kind: 'remember', usernames }),
    /** Erases forgotten people who are still stored. */
    sweep: async (): Promise<void> => {
      await start({ kind: 'sweep', usernames: [] });
    },
    /** Imports a stream that can be read once. One that breaks off changes nothing. */
    importStream: async (options: StreamImport, body: Readable): Promise<ImportedStream> => {
      const copy = copyOf(body);
      try {
        return await run({ kind: 'import', options, body: Readable.toWeb(copy) });
      } finally {
        body.unpipe(copy);
        copy.destroy();
      }
    },
    /** Ends the tasks that run, and waits for their threads. Further tasks are refused. */
    close: async (): Promise<void> => {
      closing.abort(new AppError('shutting_down', messages.shutting_down));
      await Promise.allSettled(running);
    },
  };
};

/** A thread that ends early must not destroy the request, which has no answer yet. */
const copyOf = (body: Readable): PassThrough => {
  const copy = new PassThrough();
  const end = (): void => {
    if (!body.readableEnded) copy.destroy(new Error('the body broke off'));
  };
  if (body.destroyed) end();
  else body.once('close', end).pipe(copy);
  return copy;
};

/** Settles when the thread has ended. `closing` ends it, as a crash would. */
const runInThread = async (order: TaskOrder, closing: AbortSignal): Promise<unknown> => {
  closing.throwIfAborted();
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: order,
    transferList: order.task.kind === 'import' ? [order.task.body] : [],
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  const answered = Promise.withResolvers<TaskAnswer>();
  worker.once('message', answered.resolve);
  worker.once('error', (cause) =>
    answered.reject(new ThreadError('crashed', 'the thread of the profiles ended', { cause })),
  );
  worker.once('exit', (code) =>
    answered.reject(new ThreadError('crashed', `the thread of the profiles ended with code ${code}`)),
  );
  try {
    const answer = await unlessAborted(answered.promise, closing);
    if ('error' in answer) throw new AppError(answer.error.code, answer.error.message);
    return answer.output;
  } finally {
    await worker.terminate();
  }
};
