import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { StubBehaviour } from '../providers/stub-upstream.ts';
import { startUpstreamGateway, type UpstreamGateway } from './start-upstream-gateway.ts';

let up: UpstreamGateway;

beforeAll(async () => {
  up = await startUpstreamGateway();
});

beforeEach(() => void up.takeAsked());

afterAll(() => up.stop());

const sse = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`;
const piece = (content: string) => sse({ choices: [{ index: 0, delta: { content } }] });
const end =
  sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
  sse({ choices: [], usage: { prompt_tokens: 1000, completion_tokens: 500 } });

/** An upstream that says `Hel`, and `lo` when it is let go. */
const held = () => {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const said = Promise.withResolvers<void>();
  const behaviour: StubBehaviour = {
    kind: 'raw',
    chunks: (async function* () {
      yield piece('Hel');
      said.resolve();
      await promise;
      yield piece('lo');
      yield end;
    })(),
  };
  return { behaviour, release, said: said.promise };
};
/** 1000 * 1.05 + 500 * 6.30 per million. */
const cost = '0.0042';

interface Completion {
  id: string;
  choices: { message: { content: string } }[];
}

/** Reads a stream until it has brought this much of the answer; `rest` is its end. */
const readUntil = async (answer: Response, text: string) => {
  if (answer.body === null) throw new Error('there is no body');
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let read = '';
  const more = async (): Promise<boolean> => {
    const { value, done } = await reader.read();
    read += value ?? '';
    return !done;
  };
  while (!read.includes(text) && (await more()));
  expect(read).toContain(text);
  return {
    rest: async (): Promise<string> => {
      while (await more());
      return read;
    },
  };
};

const content = (stream: string): string =>
  [...stream.matchAll(/"content":"([^"]*)"/g)].map(([, words]) => words).join('');

const job = async (id: string | null, gateway = up): Promise<unknown> =>
  (await gateway.gateway.call(`/v1/jobs/${id}`, { apiKey: gateway.apiKey })).json();

describe('a chat that is asked for again while it runs', () => {
  it('is one job: the same answer to all, as JSON or as a stream from its beginning', async () => {
    const { behaviour, release, said } = held();
    up.upstream.script(behaviour);
    const headers = { 'idempotency-key': 'live' };
    const first = up.ask({}, headers);
    await said;
    const whole = up.ask({}, headers);
    const streamed = await up.ask({ stream: true }, headers);
    const stream = await readUntil(streamed, '"content":"Hel"');
    release();
    const completion = (await (await first).json()) as Completion;
    expect(completion.choices[0]?.message.content).toBe('Hello');
    expect(await (await whole).json()).toEqual(completion);
    const text = await stream.rest();
    expect(content(text)).toBe('Hello');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(streamed.headers.get('x-chat-completion-id')).toBe(completion.id);
    const replayed = [await first, await whole, streamed].map(({ headers: got }) =>
      got.get('idempotent-replayed'),
    );
    expect(replayed).toEqual([null, 'true', 'true']);
    expect(up.takeAsked()).toHaveLength(1);
  });

  it('began as a stream and is answered as JSON too, when it has ended', async () => {
    const { behaviour, release, said } = held();
    up.upstream.script(behaviour);
    const headers = { 'idempotency-key': 'stream-first' };
    const streamed = up.ask({ stream: true, stream_options: { include_usage: true } }, headers);
    await said;
    release();
    const text = await (await streamed).text();
    const completion = (await (await up.ask({}, headers)).json()) as Completion;
    expect(completion.choices[0]?.message.content).toBe(content(text));
    expect(text).toContain(completion.id);
    expect(up.takeAsked()).toHaveLength(1);
  });

  it('is refused when it asks for something else', async () => {
    const { behaviour, release, said } = held();
    up.upstream.script(behaviour);
    const headers = { 'idempotency-key': 'other' };
    const first = up.ask({}, headers);
    await said;
    const other = await up.ask({ temperature: 1 }, headers);
    release();
    await first;
    expect(other.status).toBe(409);
    expect(other.headers.get('x-should-retry')).toBe('false');
    expect(await other.json()).toMatchObject({ error: { code: 'idempotency_conflict' } });
  });
});

describe('a chat that fails after it has begun', () => {
  it('is made anew when a client of OpenAI repeats it by itself under its key', async () => {
    const chat = { kind: 'chat' as const, pieces: ['Hel', 'lo'] };
    up.upstream.script({ kind: 'broken', chat, after: 1, ending: 'reset' }, chat);
    const openai = new OpenAI({ baseURL: `${up.gateway.url}/v1`, apiKey: up.apiKey, maxRetries: 1 });
    const completion = await openai.chat.completions.create(
      { model: 'textmodel-3.5-flash', messages: [{ role: 'user', content: 'Hello' }] },
      { headers: { 'Idempotency-Key': 'repeated' } },
    );
    expect(completion.choices[0]?.message.content).toBe('Hello');
    expect(up.takeAsked()).toHaveLength(2);
  });
});

describe('a client that leaves', () => {
  it.each([false, true])(
    'does not stop the job, which is charged and readable (stream: %s)',
    async (stream) => {
      const before = Number(await up.balance());
      const { behaviour, release, said } = held();
      up.upstream.script(behaviour);
      const headers = { 'idempotency-key': `leaving-${stream}` };
      const leaving = new AbortController();
      const asking = fetch(`${up.gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${up.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], stream }),
        signal: leaving.signal,
      }).then((answer) => answer.text());
      await said;
      leaving.abort();
      await expect(asking).rejects.toThrow('aborted');
      const again = up.ask({}, headers);
      release();
      const completion = (await (await again).json()) as Completion;
      expect(completion.choices[0]?.message.content).toBe('Hello');
      expect(await job(completion.id)).toMatchObject({ status: 'done', usage: { cost_usd: cost } });
      expect(before - Number(await up.balance())).toBeCloseTo(Number(cost), 9);
      expect(up.takeAsked()).toHaveLength(1);
    },
  );
});

describe('an answer that takes longer than its delivery may', () => {
  it('is a 408 with its id, goes on, and is read as a job', async () => {
    const hurried = await startUpstreamGateway({ CHAT_DEADLINE_MS: '50' });
    try {
      const { behaviour, release, said } = held();
      hurried.upstream.script(behaviour);
      const headers = { 'idempotency-key': 'slow' };
      const late = await hurried.ask({ conversation_id: 'c-1' }, headers);
      expect(late.status).toBe(408);
      expect(await late.json()).toEqual({
        error: { type: 'server_error', code: 'request_timeout', message: expect.any(String) },
      });
      expect(late.headers.get('x-should-retry')).toBe('false');
      expect(late.headers.get('x-conversation-id')).toBe('c-1');
      const id = late.headers.get('x-chat-completion-id') ?? '';
      expect(id).toMatch(/^chatcmpl-[0-9a-f-]{36}$/);
      const jobId = id.replace('chatcmpl-', '');
      await said;
      expect(await job(jobId, hurried)).toMatchObject({ id: jobId, status: 'running', finished_at: null });

      const again = await hurried.ask({ conversation_id: 'c-1' }, headers);
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([408, 'true']);
      expect(again.headers.get('x-chat-completion-id')).toBe(id);

      // A stream has no such deadline.
      const streamed = await hurried.ask({ conversation_id: 'c-1', stream: true }, headers);
      const stream = await readUntil(streamed, '"content":"Hel"');
      release();
      const text = await stream.rest();
      expect(content(text)).toBe('Hello');
      expect(await job(jobId, hurried)).toMatchObject({
        status: 'done',
        usage: { cost_usd: cost },
        response: { id, conversation_id: 'c-1', choices: [{ message: { content: 'Hello' } }] },
      });
      const finished = await hurried.ask({ conversation_id: 'c-1' }, headers);
      expect(finished.status).toBe(200);
      expect(hurried.takeAsked()).toHaveLength(1);
    } finally {
      await hurried.stop();
    }
  });
});

describe('conversation_id', () => {
  it('comes back in the header of a stream too', async () => {
    const answer = await up.ask({ conversation_id: 'c-7', stream: true });
    expect(answer.headers.get('x-conversation-id')).toBe('c-7');
    await answer.text();
  });

  it.each([
    ['50% off, once', '50%25 off, once'],
    ['%C3%A9', '%25C3%25A9'],
    ['é', '%C3%A9'],
    ['Gespräch/7 🎨', 'Gespr%C3%A4ch/7 %F0%9F%8E%A8'],
    ['a\r\nx-evil: 1', 'a%0D%0Ax-evil: 1'],
    [' 5% ', '%205%25%20'],
    ['\ud800', '%EF%BF%BD'],
    ['x'.repeat(4_096), 'x'.repeat(4_096)],
    ['é'.repeat(2_048), '%C3%A9'.repeat(2_048)],
  ])('comes back in the header, percent-encoded where a header cannot carry it: %j', async (id, header) => {
    const answer = await up.ask({ conversation_id: id });
    expect(answer.headers.get('x-conversation-id')).toBe(header);
    expect(answer.headers.has('x-evil')).toBe(false);
    expect(await answer.json()).toMatchObject({ conversation_id: id });
  });

  it.each(['', 'x'.repeat(4_097), 'é'.repeat(2_049)])(
    'that is empty or above 4,096 bytes comes back in the body alone: %j',
    async (id) => {
      const answer = await up.ask({ conversation_id: id });
      expect(answer.headers.has('x-conversation-id')).toBe(false);
      expect(await answer.json()).toMatchObject({ conversation_id: id });
    },
  );

  it('that is null or absent is null, without a header', async () => {
    for (const body of [{}, { conversation_id: null }]) {
      const answer = await up.ask(body);
      expect(answer.headers.has('x-conversation-id')).toBe(false);
      expect(await answer.json()).toMatchObject({ conversation_id: null });
    }
  });
});
