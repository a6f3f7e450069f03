import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { connectThread, type ConnectThreadOptions } from '../../../src/kit/threads/connect-thread.ts';
import { rejectionOf } from '../../providers/collect.ts';

/** Tells every message that it gets, and answers calls with their input; `hang` is not answered, `exit` ends the thread. */
const code = `const { parentPort } = require('node:worker_threads');
  parentPort.on('message', (message) => {
    parentPort.postMessage({ event: message });
    if (message === 'close') return parentPort.close();
    for (const { id, input } of message.calls ?? []) {
      if (input === 'exit') process.exit(3);
      if (input !== 'hang') parentPort.postMessage({ answers: [{ id, output: input }] });
    }
  });`;

const connect = (options: Partial<ConnectThreadOptions<unknown>> = {}) => {
  const messages: unknown[] = [];
  const thread = connectThread<unknown, unknown, unknown>(new Worker(code, { eval: true }), {
    name: 'the thread',
    timeoutMs: 60_000,
    endsOnTimeout: false,
    onEvent: (message) => messages.push(message),
    ...options,
  });
  return { thread, messages };
};

describe('a connected thread', () => {
  it('gets the calls of one turn in one message, and answers each', async () => {
    const { thread, messages } = connect();
    expect(await Promise.all(['a', 'b'].map((input) => thread.call(input)))).toEqual(['a', 'b']);
    expect(messages).toEqual([
      {
        calls: [
          { id: 1, input: 'a' },
          { id: 2, input: 'b' },
        ],
      },
    ]);
    await thread.close(1_000);
    expect(await thread.ended).toEqual({ kind: 'closed' });
    expect(await rejectionOf(thread.call('late'))).toMatchObject({ reason: 'closed' });
  });

  it('refuses a call that cannot be sent, and one beyond its bound', async () => {
    const { thread } = connect({ maxCalls: 1 });
    expect(await rejectionOf(thread.call(() => undefined))).toMatchObject({ reason: 'failed' });
    const call = thread.call('a');
    expect(await rejectionOf(thread.call('b'))).toMatchObject({ reason: 'full' });
    expect(await call).toBe('a');
    await thread.end(new Error('over'));
  });

  it('rejects its calls when it is lost', async () => {
    const { thread } = connect();
    const calls = ['hang', 'exit', 'a'].map((input) => rejectionOf(thread.call(input)));
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ reason: 'crashed' });
    expect(await thread.ended).toMatchObject({ kind: 'crashed', cause: { reason: 'crashed' } });
  });

  it('goes on after a call without an answer, or is ended by it', async () => {
    const patient = connect({ timeoutMs: 20 }).thread;
    expect(await rejectionOf(patient.call('hang'))).toMatchObject({ reason: 'timeout' });
    const strict = connect({ timeoutMs: 20, endsOnTimeout: true }).thread;
    expect(await rejectionOf(strict.call('hang'))).toMatchObject({ reason: 'timeout' });
    expect(await strict.ended).toMatchObject({ kind: 'crashed', cause: { reason: 'timeout' } });
    await patient.end(new Error('over'));
  });

  it('is ended when it does not close in time', async () => {
    const deaf = new Worker(`require('node:worker_threads').parentPort.on('message', () => {});`, {
      eval: true,
    });
    const thread = connectThread<string, string>(deaf, {
      name: 'the thread',
      timeoutMs: 60_000,
      endsOnTimeout: false,
    });
    const call = rejectionOf(thread.call('a'));
    await thread.close(5);
    expect(await call).toMatchObject({ reason: 'closed' });
  });
});
