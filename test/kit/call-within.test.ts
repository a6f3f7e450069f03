import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { callWithin } from '../../src/kit/deadline.ts';
import { listeningPort } from '../limits/listening-port.ts';

const within = <T>(timeoutMs: number, work: Promise<T>): Promise<T> =>
  callWithin({ call: () => work, timeoutMs });

describe('a call within its time', () => {
  it('gives the outcome of the work, value or fault', async () => {
    expect(await within(10_000, Promise.resolve(1))).toBe(1);
    await expect(within(10_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('rejects when the time is over', async () => {
    await expect(within(1, new Promise(() => undefined))).rejects.toThrow('no answer within 1 ms');
  });

  it('takes an answer that came while the event loop was busy', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    const port = await listeningPort(server);
    const accepted = once(server, 'connection');
    const reader = connect(port, '127.0.0.1');
    const writer: Socket = (await accepted)[0];
    if (reader.connecting) await once(reader, 'connect');

    const answer = within(1, once(reader, 'data'));
    writer.write('answer');
    const busyUntilMs = performance.now() + 50;
    while (performance.now() < busyUntilMs);
    expect(String(await answer)).toBe('answer');
    reader.destroy();
    server.close();
  });
});
