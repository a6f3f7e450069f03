import { createServer } from 'node:http';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import type { SendEvents, StreamAnswer } from '../../src/operations/answer.ts';
import { writeEvents } from '../../src/rest/write-events.ts';
import { listen } from '../http/local-hosts.ts';

/** The answer to a request that is written these events. */
const answerOf = async (stream: StreamAnswer['stream']): Promise<Response> => {
  const server = createServer((_request, response) => {
    const headers = { 'x-chat-completion-id': 'chatcmpl-1', 'cache-control': 'no-store' };
    void writeEvents(
      response,
      { kind: 'stream', headers, stream },
      { log: silentLog, requestId: 'request-1' },
    );
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return fetch(`http://127.0.0.1:${await listen(server)}/`);
};

describe('a stream of server-sent events', () => {
  afterEach(() => void vi.useRealTimers());

  it('has an empty line after each event, and headers that prevent buffering', async () => {
    const answer = await answerOf(async (send) => {
      await send([{ data: '{"a":1}' }, { event: 'named', data: '{"b":2}' }]);
      await send([{ data: '[DONE]' }]);
    });
    expect(await answer.text()).toBe('data: {"a":1}\n\nevent: named\ndata: {"b":2}\n\ndata: [DONE]\n\n');
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-chat-completion-id': 'chatcmpl-1',
    });
  });

  it('sends a comment after each 15 seconds of silence, and not before', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const begun = Promise.withResolvers<SendEvents>();
    const ended = Promise.withResolvers<void>();
    const answering = answerOf((send) => {
      begun.resolve(send);
      return ended.promise;
    });
    const send = await begun.promise;
    // The headers go with the first event.
    await send([{ data: 'first' }]);
    const reader = (await answering).body?.pipeThrough(new TextDecoderStream()).getReader();
    const hear = async (text: string) => expect((await reader?.read())?.value).toBe(text);
    const say = async (data: string) => {
      await send([{ data }]);
      await hear(`data: ${data}\n\n`);
    };
    await hear('data: first\n\n');
    vi.advanceTimersByTime(10_000);
    await say('second');
    vi.advanceTimersByTime(14_999);
    await say('third');
    for (let silence = 0; silence < 2; silence += 1) {
      vi.advanceTimersByTime(15_000);
      await hear(': keep-alive\n\n');
    }
    ended.resolve();
    expect(await reader?.read()).toMatchObject({ done: true });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends with a public error if it fails after it began', async () => {
    const answer = await answerOf(async (send) => {
      await send([{ data: 'first' }]);
      throw new Error('secret words');
    });
    const [first, error, ...rest] = (await answer.text()).split('\n\n');
    expect(first).toBe('data: first');
    expect(JSON.parse(error?.replace('data: ', '') ?? '')).toMatchObject({ error: { code: 'server_error' } });
    expect(error).not.toContain('secret');
    expect(rest).toEqual(['']);
  });
});
