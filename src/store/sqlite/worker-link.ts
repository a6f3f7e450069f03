import { Worker } from 'node:worker_threads';
import { connectThread, ThreadError } from '../../kit/threads/connect-thread.ts';
import { StoreError, type StoreFailure } from '../store-error.ts';
import type { OnGroup } from '../store.ts';
import { openConnection } from './connection.ts';
import {
  toFailure,
  type Command,
  type ConnectionSettings,
  type Failure,
  type Greeting,
  type Outcome,
  type Reply,
} from './messages.ts';

export interface StoreLink {
  /** Rejects with StoreError. */
  call(name: Command['name'], input: unknown): Promise<unknown>;
  /** Lets the connection answer its commands and end. */
  close(): Promise<void>;
}

export interface WorkerLinkOptions extends ConnectionSettings {
  /** The commands that may wait for an answer at once; one more is refused. */
  maxWaiting: number;
  /** A command without an answer after this long is rejected; its outcome is unknown. */
  commandTimeoutMs: number;
  onGroup?: OnGroup;
}

/** Opening may include the migrations and the recovery of a large log. */
const openTimeoutMs = 120_000;
const closeTimeoutMs = 30_000;

/** Starts a worker and waits until it has opened the file. Rejects with StoreError. */
export const openWorkerLink = async (options: WorkerLinkOptions): Promise<StoreLink> => {
  const { role, file, busyTimeoutMs, maxWaiting, commandTimeoutMs, onGroup } = options;
  const name = nameOf(options);
  const workerData: ConnectionSettings = { role, file, busyTimeoutMs };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData });
  const greeted = Promise.withResolvers<Greeting>();
  const thread = connectThread<Command, Outcome, Greeting>(worker, {
    name,
    maxCalls: maxWaiting,
    timeoutMs: commandTimeoutMs,
    endsOnTimeout: false,
    onAnswers: onGroup,
    onEvent: greeted.resolve,
  });
  const timer = setTimeout(() => void worker.terminate(), openTimeoutMs);
  const greeting = await Promise.race([greeted.promise, thread.ended]);
  clearTimeout(timer);
  if ('kind' in greeting)
    throw greeting.kind === 'closed'
      ? new StoreError('closed', `${name} was closed`)
      : toStoreError(greeting.cause);
  if ('failure' in greeting) {
    await thread.ended;
    throw cannotOpen(options, greeting);
  }

  return {
    call: (command, input) =>
      thread.call({ name: command, input }).then(valueOf, (error: unknown) => {
        throw toStoreError(error);
      }),
    close: () => thread.close(closeTimeoutMs),
  };
};

/** Opens the file in this thread, which then waits for the disk. Rejects with StoreError. */
export const openLocalLink = async (settings: ConnectionSettings): Promise<StoreLink> => {
  const calls = new Map<number, PromiseWithResolvers<Outcome>>();
  let lastId = 0;
  let isClosed = false;
  const settle = (replies: readonly Reply[]): void => {
    for (const reply of replies) {
      if ('output' in reply) calls.get(reply.id)?.resolve(reply.output);
      calls.delete(reply.id);
    }
  };
  const connection = await Promise.try(openConnection, settings, settle).catch((error: unknown) => {
    throw cannotOpen(settings, toFailure(error));
  });
  return {
    call: async (name, input) => {
      if (isClosed) throw new StoreError('closed', `${nameOf(settings)} was closed`);
      lastId += 1;
      const answered = Promise.withResolvers<Outcome>();
      calls.set(lastId, answered);
      connection.take([{ id: lastId, input: { name, input } }]);
      return valueOf(await answered.promise);
    },
    close: async () => {
      if (!isClosed) connection.close();
      isClosed = true;
    },
  };
};

const valueOf = (outcome: Outcome): unknown => {
  if ('failure' in outcome) throw new StoreError(outcome.reason, outcome.failure);
  return outcome.value;
};

const nameOf = ({ role, file }: ConnectionSettings): string => `the ${role} of ${file}`;

const cannotOpen = (settings: ConnectionSettings, { failure, reason }: Failure): StoreError =>
  new StoreError(reason, `${nameOf(settings)} could not open it: ${failure}`);

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

/** Opens a connection with the first call. If it could not be opened or has died, the next call opens another one. */
export const linkOnDemand = (open: () => Promise<StoreLink>): StoreLink => {
  let opening: Promise<StoreLink> | null = null;
  let opened: StoreLink | null = null;
  let isClosed = false;
  const start = async (): Promise<StoreLink> => {
    try {
      opened = await open();
      return opened;
    } catch (error) {
      opening = null;
      throw error;
    }
  };
  return {
    call: async (name, input) => {
      if (isClosed) throw new StoreError('closed', 'the store was closed');
      const worker = opened ?? (await (opening ??= start()));
      try {
        return await worker.call(name, input);
      } catch (error) {
        if (error instanceof StoreError && error.reason === 'crashed' && opened === worker)
          opened = opening = null;
        throw error;
      }
    },
    close: async () => {
      isClosed = true;
      const worker = await opening?.catch(() => null);
      await worker?.close();
    },
  };
};
