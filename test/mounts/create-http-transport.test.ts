import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import { connectServer } from '../../src/mounts/connect-server.ts';
import { httpTarget, mountConfig } from './mount-config.ts';
import { startHttpMcp, type Answer } from './http-mcp-server.ts';

/** Connects to a server that answers calls so. `silenceMs`: how long it may be silent. */
const connect = async (answer: Answer, silenceMs = 20_000) => {
  const { origin, seen } = await startHttpMcp(answer);
  const timeouts = { answerMs: 20_000, silenceMs, totalMs: 60_000 };
  const server = await connectServer(mountConfig('remote', httpTarget(`${origin}/mcp`), { timeouts }), {
    log: silentLog,
    outbound: { send: () => Promise.reject(new Error('nothing is sent here')) },
    groups: { note: async () => undefined, forget: async () => undefined },
    clientInfo: { name: 'test', version: '1' },
    onToolsChanged: () => undefined,
    signal: new AbortController().signal,
  });
  onTestFinished(() => server.close());
  return { server, seen };
};

const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });
const event = (message: object): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const ping = (id: number): string => event({ id, method: 'ping' });

describe('a server that asks', () => {
  const { signal } = new AbortController();

  it('much at once is ended', async () => {
    const { server, seen } = await connect(({ body }, response) => {
      if (body.includes('tools/call'))
        stream(response).write(Array.from({ length: 500 }, (_, id) => ping(id)).join(''));
      return body.includes('tools/call') || body.includes('"result"');
    });
    expect(await server.call('echo', {}, { signal })).toMatchObject({ kind: 'unknown' });
    await server.ended;
    expect(seen.filter(({ body }) => body.includes('"result"')).length).toBeLessThanOrEqual(64);
  });

  it('much, but not at once, is answered', async () => {
    let call = 0;
    let response: ServerResponse | null = null;
    const { server } = await connect(({ body }, answer) => {
      const { id, method, result } = JSON.parse(body);
      if (method === 'tools/call') [call, response] = [id, stream(answer)];
      else if (result === undefined) return false;
      const next = method === 'tools/call' ? 0 : id + 1;
      if (next < 200) response?.write(ping(next));
      else response?.end(event({ id: call, result: { content: [] } }));
      return method === 'tools/call';
    });
    expect(await server.call('echo', {}, { signal })).toEqual({ kind: 'answered', result: { content: [] } });
  });
});

it.each([
  ['its caller cancels', { kind: 'unknown' }, ['told', 'ended']],
  ['is silent too long', { kind: 'unknown' }, ['told', 'ended']],
  ['was answered in a stream without an end', { kind: 'answered' }, ['ended']],
])('ends the request of a call that %s', async (what, outcome, expected) => {
  const events: string[] = [];
  const ended = Promise.withResolvers<void>();
  const cancelling = new AbortController();
  const { server } = await connect(
    ({ body }, response) => {
      if (body.includes('notifications/cancelled')) events.push('told');
      if (!body.includes('tools/call')) return false;
      response.on('close', () => {
        events.push('ended');
        ended.resolve();
      });
      stream(response).flushHeaders();
      if (what.includes('cancels')) cancelling.abort();
      if (what.includes('answered'))
        response.write(event({ id: JSON.parse(body).id, result: { content: [] } }));
      return true;
    },
    what.includes('silent') ? 200 : 20_000,
  );
  expect(await server.call('echo', {}, { signal: cancelling.signal })).toMatchObject(outcome);
  await ended.promise;
  expect(events).toEqual(expected);
});
