import { Worker } from 'node:worker_threads';
import { connectThread } from '../../kit/threads/connect-thread.ts';
import { ThreadError } from '../../kit/threads/thread-error.ts';
import { StoreError, type StoreFailure } from '../store-error.ts';
import type { Command, Greeting, Outcome, WorkerSettings } from './messages.ts';

/** This thread's end of a worker. */
export interface WorkerLink {
  /** Rejects with StoreError. */
  call(name: Command['name'], input: unknown): Promise<unknown>;
  /** Lets the worker answer its commands and end. */
  close(): Promise<void>;
}

export interface WorkerLinkOptions extends WorkerSettings {
  /** The commands that may wait for an answer at once; one more is refused. */
  maxWaiting: number;
  /** A command without an answer after this long is rejected; its outcome is unknown. */
  commandTimeoutMs: number;
}

/** Opening may include the migrations and the recovery of a large log. */
const openTimeoutMs = 120_000;
const closeTimeoutMs = 30_000;

/** Starts a worker and waits until it has opened the file. Rejects with StoreError. */
export const openWorkerLink = async (options: WorkerLinkOptions): Promise<WorkerLink> => {
  const { role, file, busyTimeoutMs, maxWaiting, commandTimeoutMs } = options;
  const name = `the ${role} of ${file}`;
  const workerData: WorkerSettings = { role, file, busyTimeoutMs };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData });
  const greeted = Promise.withResolvers<Greeting>();
  const thread = connectThread<Command, Outcome, Greeting>(worker, {
    name,
    maxCalls: maxWaiting,
    timeoutMs: commandTimeoutMs,
    endsOnTimeout: false,
    onEvent: greeted.resolve,
  });
  const timer = setTimeout(() => void worker.terminate(), openTimeoutMs);
  const greeting = await Promise.race([greeted.promise, thread.ended]);
  clearTimeout(timer);
  if ('kind' in greeting)
    throw greeting.kind === 'closed'
      ? new StoreError('closed', `${name} was closed`)
      : toStoreError(greeting.cause);
  if (!greeting.ready) {
    await thread.ended;
    throw new StoreError('failed', `${name} could not open it: ${greeting.failure}`);
  }

  return {
    call: async (command, input) => {
      const outcome = await thread.call({ name: command, input }).catch((error: unknown) => {
        throw toStoreError(error);
      });
      if ('failure' in outcome) throw new StoreError(outcome.reason, outcome.failure);
      return outcome.value;
    },
    close: () => thread.close(closeTimeoutMs),
  };
};

const toStoreError = (error: unknown): unknown =>
  error instanceof ThreadError
    ? new StoreError(reasons[error.reason], error.message, { cause: error.cause ?? error })
    : error;

const reasons = {
  full: 'overloaded',
  timeout: 'timeout',
  failed: 'failed',
  crashed: 'crashed',
  closed: 'closed',
} as const satisfies Record<ThreadError['reason'], StoreFailure>;
