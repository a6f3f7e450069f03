import { parentPort } from 'node:worker_threads';
import type { FromThread, ThreadAnswer, ThreadCall, ToThread } from './connect-thread.ts';

type AnswerCall<Input, Output> = (input: Input, signal: AbortSignal) => Output | Promise<Output>;

/**
 * Answers the calls to this thread, after a message without answers which says that it has started. What `answer` throws
 * is a failure of its call alone. When the thread is closed, calls under way are aborted, and `close` ends what would keep
 * it alive.
 */
export const serveCalls = <Input, Output>(
  answer: AnswerCall<Input, Output>,
  close: () => Promise<void> = () => Promise.resolve(),
): void => {
  const running = new Map<number, AbortController>();

  const serve = async ({ id, input }: ThreadCall<Input>): Promise<void> => {
    const aborting = new AbortController();
    running.set(id, aborting);
    try {
      post<Output>({ id, output: await answer(input, aborting.signal) });
    } catch (error) {
      post({ id, failure: error instanceof Error ? error.message : String(error) });
    } finally {
      running.delete(id);
    }
  };

  parentPort?.on('message', (message: ToThread<Input>) => {
    if (message === 'close') {
      for (const aborting of running.values()) aborting.abort();
      void close().finally(() => parentPort?.close());
    } else if ('abort' in message) running.get(message.abort)?.abort();
    else for (const call of message.calls) void serve(call);
  });
  post();
};

const post = <Output>(...answers: ThreadAnswer<Output>[]): void => {
  const message: FromThread<Output, never> = { answers };
  parentPort?.postMessage(message);
};
