import type { Worker } from 'node:worker_threads';
import type { FromThread, ThreadCall, ToThread } from './messages.ts';
import { createPendingCalls } from './pending-calls.ts';
import { ThreadError } from './thread-error.ts';

/** `closed`: by its starter. */
export type ThreadEnd = { kind: 'closed' } | { kind: 'crashed'; cause: unknown };

/** A thread that answers calls, until it ends. */
export interface Thread<Input, Output> {
  /**
   * Rejects with ThreadError, or with the reason of a signal that has aborted. A later abort is passed on to the thread, which
   * answers all the same.
   */
  call(input: Input, signal?: AbortSignal): Promise<Output>;
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
  /** The calls that may wait for an answer at once. */
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
    call: async (input, signal) => {
      signal?.throwIfAborted();
      if (refusal !== null) throw refusal;
      const { id, answer } = pending.add();
      turn.add({ id, input });
      if (signal === undefined) return await answer;
      const abort = (): void => {
        turn.send();
        post({ abort: id });
      };
      signal.addEventListener('abort', abort, { once: true });
      return answer.finally(() => signal.removeEventListener('abort', abort));
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
