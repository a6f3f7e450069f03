import { Worker } from 'node:worker_threads';
import { StoreError } from '../store-error.ts';
import type { Greeting, Reply, Request, ToWorker, WorkerSettings } from './messages.ts';
import { createPendingCommands } from './pending-commands.ts';

/** This thread's end of a worker. */
export interface WorkerLink {
  /** Rejects with StoreError. */
  call(name: Request['name'], input: unknown): Promise<unknown>;
  /** Lets the worker answer what waits and end. */
  close(): Promise<void>;
}

export interface WorkerLinkOptions extends WorkerSettings {
  /** Commands that may wait for an answer at once; one more is refused. */
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
  const end = watchEnd(worker, name);
  await greeted(worker, { name, ended: end });

  const pending = createPendingCommands({ worker: name, maxWaiting, timeoutMs: commandTimeoutMs });
  worker.on('message', (replies: Reply[]) => {
    for (const reply of replies) pending.settle(reply);
  });
  let closed: StoreError | null = null;
  const endWithWorker = async (): Promise<void> => {
    const reason = await end;
    closed ??= reason;
    pending.reject(closed);
    pending.stop();
  };
  void endWithWorker();

  const post = (message: ToWorker): void => worker.postMessage(message);
  let gathered: Request[] = [];
  const postGathered = (): void => {
    const requests = gathered;
    gathered = [];
    try {
      if (requests.length > 0) post(requests);
    } catch (cause) {
      const error = new StoreError('failed', 'a command held data that cannot be stored', { cause });
      for (const { id } of requests) pending.reject(error, id);
    }
  };

  return {
    call: async (command, input) => {
      if (closed !== null) throw closed;
      const { id, answer } = pending.add();
      if (gathered.length === 0) setImmediate(postGathered);
      gathered.push({ id, name: command, input });
      return answer;
    },
    close: async () => {
      if (closed === null) {
        closed = new StoreError('closed', `${name} was closed`);
        postGathered();
        post('close');
      }
      const timer = setTimeout(() => void worker.terminate(), closeTimeoutMs);
      await end;
      clearTimeout(timer);
    },
  };
};

/** Resolves with the reason when the worker has ended, whatever ended it. */
const watchEnd = (worker: Worker, name: string): Promise<StoreError> => {
  let fault: unknown;
  worker.on('error', (error) => {
    fault = error;
  });
  return new Promise((resolve) => {
    worker.once('exit', (code) =>
      resolve(new StoreError('crashed', `${name} ended with code ${code}`, { cause: fault })),
    );
  });
};

const greeted = async (
  worker: Worker,
  { name, ended }: { name: string; ended: Promise<StoreError> },
): Promise<void> => {
  const timer = setTimeout(() => void worker.terminate(), openTimeoutMs);
  const greeting = new Promise<Greeting>((resolve) => worker.once('message', resolve));
  const first = await Promise.race([greeting, ended]);
  clearTimeout(timer);
  if (first instanceof StoreError) throw first;
  if (first.ready) return;
  await ended;
  throw new StoreError('failed', `${name} could not open it: ${first.failure}`);
};
