import { z } from 'zod';
import { AppError } from '../../src/kit/errors.ts';
import type { JsonAnswer } from '../../src/operations/answer.ts';
import type { ReadOperation } from '../../src/operations/definition.ts';

/** Operations for what no real one does on demand: throwing, waiting for the test, telling progress at once. */
const define = (
  name: string,
  handle: ReadOperation<{ text?: string }>['sale']['handle'],
): ReadOperation<{ text?: string }> => ({
  name,
  title: name,
  description: `For tests: ${name}.`,
  group: 'generation',
  sale: { kind: 'free', handle },
  input: z.object({ text: z.string().optional() }),
  output: z.looseObject({ text: z.string() }),
  rest: { method: 'GET', path: `/v1/${name}`, query: ['text'], validation: 'envelope', errors: [] },
  tool: { readOnly: true, idempotent: true, openWorld: false },
  docs: {
    answer: 'Text',
    description: null,
    examples: [{ summary: name, status: 200, answer: { text: '' } }],
    wrong: { text: 1 },
    headers: {},
    mayBeSandbox: false,
  },
});

const answer = (text: string): JsonAnswer => ({
  kind: 'json',
  status: 200,
  body: { text },
  headers: {},
  isSandbox: false,
  links: [],
});

export const secretOfTheUpstream = 'upstream said: sk-live-0123';

export interface ExampleOperations {
  operations: readonly ReadOperation<{ text?: string }>[];
  /** Resolves when the next call of `hang` has begun; that call ends only when its client goes. */
  nextHanging: () => Promise<AbortSignal>;
}

export const createExampleOperations = (): ExampleOperations => {
  let began = Promise.withResolvers<AbortSignal>();
  const operations = [
    define('echo', async ({ text = '' }) => answer(text)),
    define('explode', async () => {
      throw new Error(secretOfTheUpstream);
    }),
    define('refuse', async () => {
      throw new AppError('upstream_unavailable', 'The model is busy. Try again.', {
        retryAfterSeconds: 7,
        cause: new Error(secretOfTheUpstream),
      });
    }),
    define('owe', async () => {
      throw new AppError('payment_pending', 'The payment may have been settled. Send it again.');
    }),
    define('work', async (_input, call) => {
      for (const step of [1, 2, 3]) call.progress?.({ progress: step, message: `step ${step}` });
      return answer('worked');
    }),
    define('hang', async (_input, { signal }) => {
      began.resolve(signal);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      return answer('nobody reads this');
    }),
  ];
  return {
    operations,
    nextHanging: () => {
      began = Promise.withResolvers<AbortSignal>();
      return began.promise;
    },
  };
};
