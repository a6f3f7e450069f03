import type { Worker } from 'node:worker_threads';

/** `closed`: by its starter. */
export type ThreadEnd = { kind: 'closed' } | { kind: 'crashed'; cause: unknown };

/** A thread that answers calls, until it ends. */
export interface Thread<Input, Output> {
  /** Rejects with ThreadError. */
  call(input: Input): Promise<Output>;
  /** Resolves, never rejects, when no call is answered any more. */
  readonly ended: Promise<ThreadEnd>;
  /** Ends the thread at once. Its calls are rejected with `cause`. A ThreadError `closed` does not count as a crash. */
  end(cause: unknown): Promise<void>;
  /** Lets the thread answer its calls and end by itself. Ends it after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export interface ConnectThreadOptions<Event> {
  /** Names the thread in errors. */
  name: string;
  maxCalls?: number;
  /** A call without an answer after this long is rejected. */
  timeoutMs: number;
  /** Whether the thread is ended then, with all its calls. */
  endsOnTimeout: boolean;
  onEvent?: (event: Event) => void;
  /** Called with the number of answers that came together. */
  onAnswers?: ((count: number) => void) | undefined;
}

/** Speaks with a worker that serves calls (serve-calls.ts). Calls of one turn of the event loop go in one message. */
export const connectThread = <Input, Output, Event = never>(
  worker: Worker,
  { name, maxCalls = Infinity, timeoutMs, endsOnTimeout, onEvent, onAnswers }: ConnectThreadOptions<Event>,
): Thread<Input, Output> => {
  const ended = Promise.withResolvers<ThreadEnd>();
  const exited = Promise.withResolvers<void>();
  let isOver = false;
  /** The reason for refusing further calls. */
  let refusal: unknown = null;
  let fault: unknown;

  const finish = (cause: unknown): void => {
    if (isOver) return;
    isOver = true;
    refusal ??= cause;
    const isClosed = refusal instanceof ThreadError && refusal.reason === 'closed';
    ended.resolve(isClosed ? { kind: 'closed' } : { kind: 'crashed', cause: refusal });
    pending.reject(refusal);
    pending.stop();
  };
  const end = async (cause: unknown): Promise<void> => {
    finish(cause);
    await worker.terminate();
  };
  const pending = createPendingCalls<Output>({
    thread: name,
    maxCalls,
    timeoutMs,
    onTimeout: endsOnTimeout ? (error) => void end(error) : undefined,
  });

  worker.on('message', (message: FromThread<Output, Event>) => {
    if (isOver) return;
    if ('event' in message) onEvent?.(message.event);
    else {
      onAnswers?.(message.answers.length);
      for (const answer of message.answers) pending.settle(answer);
    }
  });
  worker.on('error', (error) => {
    fault = error;
  });
  worker.once('exit', (code) => {
    finish(new ThreadError('crashed', `${name} ended with code ${code}`, { cause: fault }));
    exited.resolve();
  });

  const post = (message: ToThread<Input>): void => worker.postMessage(message);
  const turn = gatherCalls(post, (id, cause) =>
    pending.reject(new ThreadError('failed', `${name} cannot be sent the data of a call`, { cause }), id),
  );

  return {
    ended: ended.promise,
    end,
    call: async (input) => {
      if (refusal !== null) throw refusal;
      const { id, answer } = pending.add();
      turn.add({ id, input });
      return answer;
    },
    close: async (graceMs) => {
      if (refusal === null) {
        refusal = new ThreadError('closed', `${name} was closed`);
        turn.send();
        post('close');
      }
      const timer = setTimeout(() => void worker.terminate(), graceMs);
      await exited.promise;
      clearTimeout(timer);
    },
  };
};

/** Collects the calls of one turn of the event loop. Calls `onUnsent` for each call if their message cannot be sent. */
const gatherCalls = <Input>(
  post: (message: ToThread<Input>) => void,
  onUnsent: (id: number, cause: unknown) => void,
) => {
  let gathered: ThreadCall<Input>[] = [];
  const send = (): void => {
    const calls = gathered;
    gathered = [];
    try {
      if (calls.length > 0) post({ calls });
    } catch (cause) {
      for (const { id } of calls) onUnsent(id, cause);
    }
  };
  return {
    send,
    add: (call: ThreadCall<Input>): void => {
      if (gathered.length === 0) setImmediate(send);
      gathered.push(call);
    },
  };
};

/** The messages to a thread from the thread that started it. */
export type ToThread<Input> =
  | { calls: readonly ThreadCall<Input>[] }
  /** The thread answers its calls and ends by itself. */
  | 'close';

export interface ThreadCall<Input> {
  id: number;
  input: Input;
}

/** The messages of a thread: answers to calls, in any order, and news that nobody asked for. */
export type FromThread<Output, Event> = { answers: readonly ThreadAnswer<Output>[] } | { event: Event };

export type ThreadAnswer<Output> = { id: number; output: Output } | { id: number; failure: string };

/**
 * `full`: too many calls wait, this one was not made. `timeout`: no answer in time. `failed`: the thread refused the call.
 * `crashed`: the thread ended. `closed`: the thread was closed. After `timeout` and `crashed` the outcome of the call is
 * unknown.
 */
export type ThreadFailure = 'full' | 'timeout' | 'failed' | 'crashed' | 'closed';

export class ThreadError extends Error {
  override readonly name = 'ThreadError';
  readonly reason: ThreadFailure;

  constructor(reason: ThreadFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}

export interface PendingCallsOptions {
  /** Names the thread in errors. */
  thread: string;
  /** The calls that may wait at once. */
  maxCalls: number;
  /** A call without an answer after this long is rejected with ThreadError `timeout`; looked at once a second. */
  timeoutMs: number;
  /** Called after such a rejection. */
  onTimeout?: ((error: ThreadError) => void) | undefined;
}

const overdueCheckMs = 1_000;

/** The calls that a thread has not answered yet, in the order they were made. */
export const createPendingCalls = <Output>({
  thread,
  maxCalls,
  timeoutMs,
  onTimeout,
}: PendingCallsOptions) => {
  const calls = new Map<number, PromiseWithResolvers<Output> & { since: number }>();
  let lastId = 0;

  const rejectOne = (id: number, error: unknown): void => {
    const call = calls.get(id);
    calls.delete(id);
    call?.reject(error);
  };
  const rejectOverdue = (): void => {
    const limit = performance.now() - timeoutMs;
    for (const [id, { since }] of calls) {
      if (since > limit) break;
      const error = new ThreadError('timeout', `${thread} gave no answer in ${timeoutMs} ms`);
      rejectOne(id, error);
      onTimeout?.(error);
    }
  };
  const timer = setInterval(rejectOverdue, Math.min(overdueCheckMs, timeoutMs)).unref();

  return {
    /** Throws ThreadError `full` when too many calls wait. */
    add: (): { id: number; answer: Promise<Output> } => {
      if (calls.size >= maxCalls)
        throw new ThreadError('full', `${calls.size} calls wait for ${thread}; this one was not made`);
      lastId += 1;
      const call = { ...Promise.withResolvers<Output>(), since: performance.now() };
      calls.set(lastId, call);
      return { id: lastId, answer: call.promise };
    },
    settle: (answer: ThreadAnswer<Output>): void => {
      const call = calls.get(answer.id);
      calls.delete(answer.id);
      if ('failure' in answer) call?.reject(new ThreadError('failed', answer.failure));
      else call?.resolve(answer.output);
    },
    /** Rejects one call, or all. */
    reject: (error: unknown, id?: number): void => {
      for (const each of id === undefined ? calls.keys() : [id]) rejectOne(each, error);
    },
    stop: (): void => clearInterval(timer),
  };
};
