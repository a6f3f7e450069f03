import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { shortChat, type StubBehaviour } from '../providers/stub-upstream.ts';
import { startUpstreamGateway, type UpstreamGateway } from './start-upstream-gateway.ts';

let up: UpstreamGateway;

beforeAll(async () => {
  up = await startUpstreamGateway();
});

beforeEach(() => void up.takeAsked());

afterAll(() => up.stop());

const choice = (delta: object, more: object = {}) => ({
  id: 'chatcmpl-upstream',
  object: 'chat.completion.chunk',
  model: 'upstream-name',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});
const sse = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`;
const answering = (...chunks: object[]): StubBehaviour => ({ kind: 'raw', chunks: chunks.map(sse) });

const token = (text: string) => ({
  token: text,
  logprob: -0.25,
  bytes: [...Buffer.from(text)],
  top_logprobs: [{ token: text, logprob: -0.25, bytes: null }],
});
const logprobs = (text: string) => ({ logprobs: { content: [token(text)], refusal: null } });
const annotation = (url: string) => ({
  type: 'url_citation',
  url_citation: { start_index: 0, end_index: 2, title: 'A page', url },
});
const sound = (text: string) => Buffer.from(text).toString('base64');
const usage = {
  prompt_tokens: 20,
  completion_tokens: 10,
  total_tokens: 30,
  prompt_tokens_details: { cached_tokens: 5, audio_tokens: 3 },
  completion_tokens_details: {
    reasoning_tokens: 4,
    audio_tokens: 2,
    accepted_prediction_tokens: 1,
    rejected_prediction_tokens: 6,
  },
};

/** All that an upstream may say beside words. */
const everything = answering(
  choice({ role: 'assistant', content: '', refusal: null }),
  choice({ reasoning_content: 'Let me ' }),
  choice({ reasoning_content: 'think.' }),
  choice({ content: 'Hel' }, logprobs('Hel')),
  choice({ content: 'lo' }, logprobs('lo')),
  choice({ annotations: [annotation('https://example.com/1')] }),
  choice({ annotations: [annotation('https://example.com/2')] }),
  choice({ audio: { id: 'audio_1', transcript: 'Hel' } }),
  // Each piece is base64 of its own, with padding in the middle of the whole.
  choice({ audio: { data: sound('ab') } }),
  choice({ audio: { data: sound('cde'), transcript: 'lo' } }),
  choice({ audio: { expires_at: 1_800_000_000 } }),
  choice({}, { finish_reason: 'stop' }),
  { choices: [], usage },
);

const whole = {
  index: 0,
  message: {
    role: 'assistant',
    content: 'Hello',
    reasoning_content: 'Let me think.',
    refusal: null,
    annotations: [annotation('https://example.com/1'), annotation('https://example.com/2')],
    audio: { id: 'audio_1', expires_at: 1_800_000_000, data: sound('abcde'), transcript: 'Hello' },
  },
  finish_reason: 'stop',
  logprobs: { content: [token('Hel'), token('lo')], refusal: null },
};

interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: {
    index: number;
    delta: Record<string, unknown>;
    logprobs?: { content: object[] | null; refusal: object[] | null };
    finish_reason: string | null;
  }[];
  usage?: object;
}

/** The JSON events of a stream that ended well. */
const readChunks = async (answer: Response): Promise<Chunk[]> => {
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/event-stream'),
  ]);
  const lines = (await answer.text()).split('\n\n');
  expect(lines.splice(-2)).toEqual(['data: [DONE]', '']);
  return lines.map((line) => JSON.parse(line.replace(/^data: /, '')) as Chunk);
};

/** All values of one member of the deltas. */
const deltas = (chunks: Chunk[], name: string): unknown[] =>
  chunks.flatMap(({ choices }) => (choices[0]?.delta[name] === undefined ? [] : [choices[0].delta[name]]));

const joined = (chunks: Chunk[]) => ({
  content: deltas(chunks, 'content').join(''),
  reasoning: deltas(chunks, 'reasoning_content').join(''),
  annotations: deltas(chunks, 'annotations').flat(),
  audio: deltas(chunks, 'audio') as {
    id?: string;
    data?: string;
    transcript?: string;
    expires_at?: number;
  }[],
  logprobs: chunks.flatMap(({ choices }) => choices[0]?.logprobs?.content ?? []),
  refusals: chunks.flatMap(({ choices }) => choices[0]?.logprobs?.refusal ?? []),
});

const bytesOf = (pieces: { data?: string }[]): string =>
  pieces.map(({ data }) => Buffer.from(data ?? '', 'base64').toString()).join('');

describe('an answer with everything', () => {
  it('is whole as JSON, as a job, and as JSON again', async () => {
    up.upstream.script(everything);
    const headers = { 'idempotency-key': 'everything' };
    const completion = (await (await up.ask({}, headers)).json()) as Record<string, unknown>;
    expect(completion).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f-]{36}$/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'textmodel-3.5-flash',
      choices: [whole],
      usage,
      conversation_id: null,
    });
    expect(Math.abs(Number(completion['created']) - Date.now() / 1000)).toBeLessThan(60);
    const jobId = String(completion['id']).replace('chatcmpl-', '');
    const job = await up.gateway.call(`/v1/jobs/${jobId}`, { apiKey: up.apiKey });
    expect(await job.json()).toMatchObject({ id: jobId, status: 'done', response: completion });
    expect(await (await up.ask({}, headers)).json()).toEqual(completion);
  });

  it('comes piece by piece in a stream, each with what belongs to it', async () => {
    up.upstream.script(everything);
    const chunks = await readChunks(await up.ask({ stream: true }));
    const [first] = chunks;
    for (const chunk of chunks)
      expect(chunk).toMatchObject({
        id: first?.id,
        object: 'chat.completion.chunk',
        created: first?.created,
        model: 'textmodel-3.5-flash',
      });
    expect(chunks.map(({ choices }) => choices)).toEqual([
      ...[
        { delta: { role: 'assistant', content: '' } },
        { delta: { reasoning_content: 'Let me ' } },
        { delta: { reasoning_content: 'think.' } },
        { delta: { content: 'Hel' }, ...logprobs('Hel') },
        { delta: { content: 'lo' }, ...logprobs('lo') },
        { delta: { annotations: [annotation('https://example.com/1')] } },
        { delta: { annotations: [annotation('https://example.com/2')] } },
        { delta: { audio: { id: 'audio_1', transcript: 'Hel' } } },
        { delta: { audio: { data: sound('ab') } } },
        { delta: { audio: { data: sound('cde'), transcript: 'lo' } } },
        { delta: { audio: { expires_at: 1_800_000_000 } } },
        { delta: {}, finish_reason: 'stop' },
      ].map((piece) => [{ index: 0, finish_reason: null, ...piece }]),
      [],
    ]);
    expect(chunks.map((chunk) => chunk.usage)).toEqual([...chunks.slice(1).map(() => undefined), usage]);
  });

  it('is the same in a stream that replays it', async () => {
    up.upstream.script(everything);
    const headers = { 'idempotency-key': 'replayed-as-stream' };
    const completion = (await (await up.ask({}, headers)).json()) as { id: string };
    const replay = await up.ask({ stream: true }, headers);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    const chunks = await readChunks(replay);
    const { audio, ...rest } = joined(chunks);
    expect(rest).toEqual({
      content: 'Hello',
      reasoning: 'Let me think.',
      annotations: whole.message.annotations,
      logprobs: whole.logprobs.content,
      refusals: [],
    });
    expect(bytesOf(audio)).toBe('abcde');
    expect(Object.assign({}, ...audio)).toMatchObject({ id: 'audio_1', transcript: 'Hello' });
    expect(chunks[0]).toMatchObject({ id: completion.id, choices: [{ delta: { role: 'assistant' } }] });
    expect(chunks.at(-2)?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
    expect(up.takeAsked()).toHaveLength(1);
  });

  it('is understood by the openai package, whole and streamed', async () => {
    const openai = new OpenAI({ baseURL: `${up.gateway.url}/v1`, apiKey: up.apiKey, maxRetries: 0 });
    const request = {
      model: 'textmodel-3.5-flash',
      messages: [{ role: 'user' as const, content: 'Hello' }],
      logprobs: true,
    };
    up.upstream.script(everything, everything);
    const answered = await openai.chat.completions.create(request);
    const streamed = await openai.chat.completions.stream(request).finalChatCompletion();
    expect(answered.choices[0]?.logprobs).toEqual(whole.logprobs);
    expect(streamed.choices[0]?.logprobs?.content).toEqual(whole.logprobs.content);
    expect(streamed.choices[0]?.message.content).toBe('Hello');
    expect(streamed.choices[0]?.message.audio).toMatchObject({ id: 'audio_1', transcript: 'Hello' });
  });
});

describe('a refusal by the model', () => {
  const refusing = answering(
    choice({ refusal: 'I can' }, { logprobs: { content: null, refusal: [token('I can')] } }),
    choice({ refusal: 'not.' }),
    choice({}, { finish_reason: 'stop' }),
    { choices: [], usage: { prompt_tokens: 2, completion_tokens: 1 } },
  );
  const refusal = [token('I can')];

  it('is the message’s refusal, beside no content', async () => {
    up.upstream.script(refusing);
    expect(await (await up.ask()).json()).toMatchObject({
      choices: [{ message: { content: null, refusal: 'I cannot.' }, logprobs: { content: null, refusal } }],
    });
  });

  it('is streamed, and replayed as a stream', async () => {
    up.upstream.script(refusing);
    const headers = { 'idempotency-key': 'refused' };
    for (const isReplay of [false, true]) {
      const answer = await up.ask({ stream: true }, headers);
      expect(answer.headers.has('idempotent-replayed')).toBe(isReplay);
      const chunks = await readChunks(answer);
      expect(deltas(chunks, 'refusal').join('')).toBe('I cannot.');
      expect(joined(chunks)).toMatchObject({ content: '', logprobs: [], refusals: refusal });
    }
  });
});

describe('a legacy function call', () => {
  it('is answered, streamed and replayed in function_call', async () => {
    const body = { functions: [{ name: 'f', parameters: { type: 'object' } }], function_call: 'auto' };
    const call = { name: 'f', arguments: '{"a":1}' };
    up.upstream.script({ kind: 'chat', functionCall: { name: 'f', arguments: ['{"a"', ':1}'] } });
    const headers = { 'idempotency-key': 'legacy' };
    expect(await (await up.ask(body, headers)).json()).toMatchObject({
      choices: [{ finish_reason: 'function_call', message: { content: null, function_call: call } }],
    });
    up.upstream.script({ kind: 'chat', functionCall: { name: 'f', arguments: ['{"a"', ':1}'] } });
    for (const more of [{}, headers]) {
      const chunks = await readChunks(await up.ask({ ...body, stream: true }, more));
      const pieces = deltas(chunks, 'function_call') as { name?: string; arguments: string }[];
      expect(pieces[0]?.name).toBe('f');
      expect(pieces.map((piece) => piece.arguments).join('')).toBe('{"a":1}');
      expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('function_call');
    }
    expect(up.takeAsked()).toHaveLength(2);
  });

  it('ends with function_call, whatever reason an upstream gives for a call that it had to make', async () => {
    const body = { functions: [{ name: 'f' }], function_call: { name: 'f' } };
    for (const finish of ['stop', 'tool_calls', 'function_call']) {
      up.upstream.script({ kind: 'chat', functionCall: { name: 'f', arguments: ['{}'] }, finish });
      expect(await (await up.ask(body)).json()).toMatchObject({
        choices: [{ finish_reason: 'function_call', message: { function_call: { name: 'f' } } }],
      });
    }
  });

  it.each([
    { functions: [] },
    { functions: [], tools: [] },
    { functions: [{ name: 'f' }], tools: [{ type: 'function', function: { name: 'f' } }] },
  ])('is none where the request has %j: parallel calls stay apart', async (body) => {
    const toolCalls = ['one', 'two'].map((id) => ({ id, name: 'f', arguments: [`{"${id}":1}`] }));
    for (const stream of [false, true]) {
      up.upstream.script({ kind: 'chat', toolCalls });
      const answer = await up.ask({ ...body, stream });
      const calls = stream
        ? (deltas(await readChunks(answer), 'tool_calls').flat() as { id?: string }[])
        : ((await answer.json()) as { choices: [{ message: { tool_calls: { id: string }[] } }] }).choices[0]
            .message.tool_calls;
      expect(calls.flatMap(({ id }) => id ?? [])).toEqual(['one', 'two']);
    }
  });
});

describe('usage that an upstream tells in part, or wrong', () => {
  it.each([
    [{ prompt_tokens: 5, completion_tokens: 2 }, null, null],
    [
      {
        prompt_tokens: 5,
        completion_tokens: 2,
        prompt_tokens_details: null,
        completion_tokens_details: { reasoning_tokens: -1, audio_tokens: 'two' },
      },
      null,
      null,
    ],
    [
      {
        prompt_tokens: 5,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
      0,
      2,
    ],
  ])('%j', async (told, cached, reasoning) => {
    up.upstream.script(
      answering(choice({ content: 'x' }, { finish_reason: 'stop' }), { choices: [], usage: told }),
    );
    expect(await (await up.ask()).json()).toMatchObject({
      usage: {
        prompt_tokens: 5,
        completion_tokens: 2,
        total_tokens: 7,
        prompt_tokens_details: { cached_tokens: cached, audio_tokens: null },
        completion_tokens_details: {
          reasoning_tokens: reasoning,
          audio_tokens: null,
          accepted_prediction_tokens: null,
          rejected_prediction_tokens: null,
        },
      },
    });
  });
});

describe('what an upstream says in a wrong form', () => {
  it('is left out, and the words stay', async () => {
    let deep: object = {};
    for (let depth = 0; depth < 200; depth += 1) deep = { deep };
    up.upstream.script(
      answering(
        choice({ content: 'Hel', annotations: ['x', 7], audio: 'sound' }, { logprobs: 'high' }),
        choice(
          { content: 'lo', annotations: [deep], audio: { id: 7 } },
          { logprobs: { content: [{ token: 7 }] } },
        ),
        choice({}, { finish_reason: 'stop' }),
        { choices: [], usage },
      ),
    );
    const completion = (await (await up.ask()).json()) as { choices: object[] };
    expect(completion.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello', refusal: null },
        finish_reason: 'stop',
        logprobs: null,
      },
    ]);
  });
});

describe('the price of an answer', () => {
  it('is nothing when the upstream fails without output, and the balance is as before', async () => {
    const before = await up.balance();
    const broken = { kind: 'broken', chat: shortChat, after: 0, ending: 'end' } as const;
    up.upstream.script(broken, broken);
    const plain = await up.ask();
    const streamed = await up.ask({ stream: true });
    expect([plain.status, streamed.status]).toEqual([502, 502]);
    for (const answer of [plain, streamed]) {
      expect(await answer.json()).toEqual({
        error: { type: 'server_error', code: 'upstream_error', message: expect.any(String) },
      });
      const id = answer.headers.get('x-chat-completion-id');
      const job = await up.gateway.call(`/v1/jobs/${id}`, { apiKey: up.apiKey });
      expect(await job.json()).toMatchObject({ status: 'failed', usage: { cost_usd: '0.00' }, data: [] });
    }
    expect(await up.balance()).toBe(before);
  });
});
