import { parentPort } from 'node:worker_threads';
import type { FromThread, ThreadAnswer, ThreadCall, ToThread } from './connect-thread.ts';

/** Says with a message without answers that the thread has started, and answers its calls. A throw fails one call. */
export const serveCalls = (answer: (input: never) => unknown): void => {
  const serve = async ({ id, input }: ThreadCall<never>): Promise<void> => {
    try {
      post({ id, output: await answer(input) });
    } catch (error) {
      post({ id, failure: error instanceof Error ? error.message : String(error) });
    }
  };

  parentPort?.on('message', (message: ToThread<never>) => {
    if (message !== 'close') for (const call of message.calls) void serve(call);
  });
  post();
};

const post = (...answers: ThreadAnswer<unknown>[]): void => {
  const message: FromThread<unknown, never> = { answers };
  parentPort?.postMessage(message);
};
