import * as fc from 'fast-check';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ProviderTimeouts } from '../../../src/providers/remote-settings.ts';
import { silentLog } from '../../../src/kit/log.ts';
import {
  createOpenAiClient,
  createEventReader,
  type OpenAiClient,
} from '../../../src/providers/openai/openai-client.ts';
import { createOpenAiText } from '../../../src/providers/openai/openai-text.ts';
import { ProviderError } from '../../../src/providers/provider-error.ts';
import type { TextEvent, TextProvider, TextRequest } from '../../../src/providers/text/text-provider.ts';
import { createTokenCounter } from '../../../src/providers/tokens/token-counter.ts';
import { argumentsOf, collect, contentOf, finishOf, noAbort, rejectionOf, usageOf } from '../collect.ts';
import {
  chatStream,
  contentPolicyRefusal,
  shortChat,
  startStubUpstream,
  type StubBehaviour,
  type StubChat,
  type StubUpstream,
} from '../stub-upstream.ts';

const patient: ProviderTimeouts = { connectMs: 5_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 25_000 };
const counter = createTokenCounter({ log: silentLog });
const opened: OpenAiClient[] = [];
let stub: StubUpstream;

const request: TextRequest = {
  model: 'upstream-model',
  messages: [{ role: 'user', content: 'Say hello' }],
  maxOutputTokens: 50,
  options: {},
  isWhole: false,
};

/** The events of an answer. */
const told = (text: TextProvider, asked = request, signal = noAbort()): Promise<TextEvent[]> =>
  collect((emit) => text.answer(asked, { signal, emit }));

const createText = (timeouts: Partial<ProviderTimeouts> = {}, apiKey: string | null = 'sk-upstream') => {
  const client = createOpenAiClient({ baseUrl: stub.baseUrl, apiKey, timeouts: { ...patient, ...timeouts } });
  opened.push(client);
  return createOpenAiText({ client, counter });
};

const ask = (
  changes: Partial<TextRequest> = {},
  timeouts: Partial<ProviderTimeouts> = {},
): Promise<TextEvent[]> => told(createText(timeouts), { ...request, ...changes });

const failureOf = async (behaviour: StubBehaviour, timeouts: Partial<ProviderTimeouts> = {}) => {
  stub.script(behaviour);
  const error = await rejectionOf(ask({}, timeouts));
  if (!(error instanceof ProviderError)) throw error;
  return error;
};

beforeAll(async () => {
  stub = await startStubUpstream();
});
beforeEach(() => {
  stub.setDefault(shortChat);
});
afterAll(async () => {
  await Promise.all(opened.map((client) => client.close()));
  await counter.close();
  await stub.close();
});

describe('what goes upstream', () => {
  it('is a streaming chat completion with usage, the model, the limit and the key', async () => {
    await ask({
      options: { temperature: 0.5, stream_options: { include_obfuscation: false, include_usage: false } },
    });
    const sent = stub.requests.at(-1);
    expect(sent).toMatchObject({ method: 'POST', path: '/v1/chat/completions' });
    expect(sent?.headers).toMatchObject({ authorization: 'Bearer sk-upstream', 'user-agent': 'causeway' });
    expect(Object.keys(sent?.headers ?? {}).filter((name) => name.startsWith('x-stainless'))).toEqual([]);
    expect(sent?.body).toEqual({
      model: 'upstream-model',
      messages: [{ role: 'user', content: 'Say hello' }],
      max_tokens: 50,
      temperature: 0.5,
      stream: true,
      stream_options: { include_obfuscation: false, include_usage: true },
    });
  });

  it('never has what says who the caller is, nor what multiplies output', async () => {
    await ask({
      messages: [
        { role: 'user', name: 'alice', content: 'hi' },
        { role: 'function', name: 'lookup', content: '{}' },
      ],
      options: {
        store: true,
        metadata: { a: 'b' },
        user: 'u',
        safety_identifier: 's',
        prompt_cache_key: 'k',
        n: 3,
        best_of: 4,
        model: 'another',
        temperature: null,
      },
    });
    expect(stub.requests.at(-1)?.body).toEqual({
      model: 'upstream-model',
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'function', name: 'lookup', content: '{}' },
      ],
      max_tokens: 50,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('has no key when none is configured', async () => {
    await told(createText({}, null));
    expect(stub.requests.at(-1)?.headers.authorization).toBeUndefined();
  });

  it('goes over connections that were used before', async () => {
    const text = createText();
    const start = stub.requests.length;
    for (let count = 0; count < 10; count += 1) await told(text);
    const used = stub.requests.slice(start).map(({ connection }) => connection);
    // The end of one answer may still be on its way when the next call is made.
    expect(new Set(used).size).toBeLessThanOrEqual(3);
  });
});

describe('an answer', () => {
  it('is content, then finish, then usage', async () => {
    stub.script({
      kind: 'chat',
      pieces: ['Hello', ', ', 'wörld 🌍'],
      usage: {
        prompt_tokens: 11,
        completion_tokens: 5,
        total_tokens: 16,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
    expect(await ask()).toEqual([
      { type: 'content', text: 'Hello' },
      { type: 'content', text: ', ' },
      { type: 'content', text: 'wörld 🌍' },
      { type: 'finish', reason: 'stop' },
      {
        type: 'usage',
        usage: { promptTokens: 11, completionTokens: 5, cachedTokens: 4, reasoningTokens: 2 },
      },
    ]);
  });

  it('carries reasoning, and tool calls in pieces', async () => {
    stub.script({
      kind: 'chat',
      reasoning: ['let me ', 'see'],
      toolCalls: [
        { id: 'call_1', name: 'weather', arguments: ['{"city":', '"Oslo"}'] },
        { id: 'call_2', name: 'time', arguments: ['{}'] },
      ],
    });
    const events = await ask();
    expect(events.slice(0, 7)).toEqual([
      { type: 'reasoning', text: 'let me ' },
      { type: 'reasoning', text: 'see' },
      { type: 'tool_call', index: 0, id: 'call_1', name: 'weather', arguments: '' },
      { type: 'tool_call', index: 0, arguments: '{"city":' },
      { type: 'tool_call', index: 0, arguments: '"Oslo"}' },
      { type: 'tool_call', index: 1, id: 'call_2', name: 'time', arguments: '' },
      { type: 'tool_call', index: 1, arguments: '{}' },
    ]);
    expect(finishOf(events)).toBe('tool_calls');
  });

  it('carries a legacy function call as a call without an id', async () => {
    stub.script({ kind: 'chat', functionCall: { name: 'weather', arguments: ['{"a"', ':1}'] } });
    const events = await ask();
    expect(events[0]).toEqual({ type: 'tool_call', index: 0, name: 'weather', arguments: '' });
    expect(argumentsOf(events)).toBe('{"a":1}');
    expect(finishOf(events)).toBe('function_call');
  });

  it('bills reasoning that the upstream left out of its completion tokens', async () => {
    stub.script({
      kind: 'chat',
      pieces: ['x'],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 40 },
    });
    expect(usageOf(await ask())).toMatchObject({ promptTokens: 10, completionTokens: 30 });
  });

  it('has usage of our own count when the upstream reports none', async () => {
    stub.script({ kind: 'chat', pieces: ['Hello', ' world'], usage: null });
    // "Say hello" is two tokens; the chat format adds seven.
    expect(usageOf(await ask())).toEqual({
      promptTokens: 9,
      completionTokens: 2,
      cachedTokens: null,
      reasoningTokens: null,
    });
  });

  it('is complete with a finish reason, whether or not [DONE] follows', async () => {
    stub.script({ kind: 'chat', pieces: ['ok'], done: false });
    expect(finishOf(await ask())).toBe('stop');
  });

  it('is complete without the empty line after its last event', async () => {
    const last = { choices: [{ delta: { content: 'ok' }, finish_reason: 'stop' }] };
    stub.script({ kind: 'raw', chunks: [`data: ${JSON.stringify(last)}\n`] });
    expect(finishOf(await ask())).toBe('stop');
  });

  it.each([1, 2, 7, 64])('is the same in network pieces of %i bytes with CRLF line ends', async (bytes) => {
    const chat: StubChat = { kind: 'chat', pieces: ['naïve ', '日本語 ', '🌍🚀', '\r\n"quoted"'] };
    stub.script({ kind: 'split', chat, bytes, lineEnd: '\r\n' });
    expect(contentOf(await ask())).toBe('naïve 日本語 🌍🚀\r\n"quoted"');
  });

  it('is the same however its bytes are cut', () => {
    const bytes = Buffer.from(
      chatStream({ kind: 'chat', reasoning: ['ü'], pieces: ['é', '漢字 🌍', ' end'] }),
    );
    const eventsOf = (pieces: Uint8Array[]) => {
      const events: unknown[] = [];
      const reader = createEventReader((event) => events.push(event));
      for (const piece of pieces) reader.read(piece);
      reader.end();
      return events;
    };
    const whole = eventsOf([bytes]);
    expect(whole.length).toBeGreaterThan(4);
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 40 });
    fc.assert(
      fc.property(cuts, (positions) => {
        const edges = [0, ...positions.sort((a, b) => a - b), bytes.length];
        const pieces = edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
        expect(eventsOf(pieces)).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });

  it('carries what comes beside the words with the words that it came with', async () => {
    const chunk = (delta: object, more: object = {}) =>
      `data: ${JSON.stringify({ choices: [{ delta, ...more }] })}\n\n`;
    const token = { token: 'Hi', logprob: -1, bytes: [72, 105], top_logprobs: [] };
    stub.script({
      kind: 'raw',
      chunks: [
        chunk({ content: 'Hi' }, { logprobs: { content: [{ ...token, unknown: 1 }], refusal: null } }),
        chunk({}, { logprobs: { content: [token] } }),
        chunk({ annotations: [{ type: 'url_citation', any: [1] }], audio: { id: 'a', data: 'AA==' } }),
        chunk({ annotations: [], audio: {} }, { logprobs: { content: [] } }),
        chunk({}, { finish_reason: 'stop' }),
      ],
    });
    const events = await ask();
    expect(events.slice(0, -2)).toEqual([
      { type: 'content', text: 'Hi', extras: { logprobs: { content: [token], refusal: [] } } },
      { type: 'content', text: '', extras: { logprobs: { content: [token], refusal: [] } } },
      {
        type: 'content',
        text: '',
        extras: {
          annotations: [{ type: 'url_citation', any: [1] }],
          audio: { id: 'a', data: 'AA==' },
        },
      },
    ]);
  });

  it('survives chunks that are strange but say nothing', async () => {
    const strange = [
      ': comment',
      'data: {}',
      'data: {"choices":null}',
      'data: {"choices":[{"delta":null,"finish_reason":null}],"usage":null}',
      'data: {"choices":[{"delta":{"content":null,"tool_calls":null}}]}',
      'data: {"choices":[{"index":0,"delta":{"content":"ok"}}]}',
      'data: [1,2]',
      'data: {"choices":[{"delta":{},"finish_reason":"end_turn"}],"usage":{"prompt_tokens":"many"}}',
      'data: {"choices":[{"delta":{},"finish_reason":"length"}]}',
    ];
    stub.script({ kind: 'raw', chunks: [strange.join('\n\n'), '\n\n'] });
    const events = await ask();
    expect(contentOf(events)).toBe('ok');
    expect(events.filter(({ type }) => type === 'finish')).toEqual([{ type: 'finish', reason: 'stop' }]);
    expect(events.filter(({ type }) => type === 'usage')).toHaveLength(1);
  });

  it('gets ids and indexes for calls that have none', async () => {
    const call = (name: string, id?: string) =>
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ id, function: { name, arguments: { a: 1 } } }] } }] })}\n\n`;
    stub.script({
      kind: 'raw',
      chunks: [
        call('one', 'a'),
        call('two', 'b'),
        'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
      ],
    });
    const events = await ask();
    expect(events.slice(0, 2)).toEqual([
      { type: 'tool_call', index: 0, id: 'a', name: 'one', arguments: '{"a":1}' },
      { type: 'tool_call', index: 1, id: 'b', name: 'two', arguments: '{"a":1}' },
    ]);
    expect(finishOf(events)).toBe('tool_calls');
  });
});

describe('a failure', () => {
  it.each([
    [400, 'fatal', 'invalid_parameter'],
    [413, 'fatal', 'invalid_parameter'],
    [422, 'fatal', 'invalid_parameter'],
    [401, 'retry_other', 'upstream_unavailable'],
    [403, 'retry_other', 'upstream_unavailable'],
    [404, 'retry_other', 'upstream_unavailable'],
    [302, 'retry_other', 'upstream_unavailable'],
    [408, 'retry_same', 'upstream_error'],
    [429, 'retry_same', 'rate_limit_exceeded'],
    [500, 'retry_same', 'upstream_error'],
    [502, 'retry_same', 'upstream_error'],
    [503, 'retry_same', 'upstream_unavailable'],
  ])('with status %i is %s, %s', async (status, failure, code) => {
    const asked = stub.requests.length;
    const error = await failureOf({ kind: 'error', status, message: 'secret upstream words' });
    expect(error).toMatchObject({ failure, code, explanation: undefined });
    expect(stub.requests.length - asked).toBe(1);
  });

  it('by our own quota there is not a rate limit', async () => {
    const error = await failureOf({ kind: 'error', status: 429, code: 'insufficient_quota' });
    expect(error).toMatchObject({ failure: 'retry_other', code: 'upstream_unavailable' });
  });

  it('by a missing model is another route’s chance, also as a 400', async () => {
    const error = await failureOf({ kind: 'error', status: 400, code: 'model_not_found' });
    expect(error).toMatchObject({ failure: 'retry_other' });
  });

  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '1', 'retry-after-ms': '120' }, 120],
  ])('by a rate limit tells how long to wait (%o)', async (headers, retryAfterMs) => {
    expect(await failureOf({ kind: 'error', status: 429, headers })).toMatchObject({ retryAfterMs });
  });

  it('by content policy has an explanation that does not name the upstream', async () => {
    expect(await failureOf(contentPolicyRefusal)).toMatchObject({
      failure: 'fatal',
      code: 'content_policy_violation',
      explanation: 'Your request was rejected by the safety system.',
    });
  });

  it('to connect did nothing', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    server.close();
    await once(server, 'close');
    const client = createOpenAiClient({
      baseUrl: `http://127.0.0.1:${port}/v1`,
      apiKey: 'k',
      timeouts: patient,
    });
    expect(await rejectionOf(told(createOpenAiText({ client, counter })))).toMatchObject({
      failure: 'retry_same',
      code: 'upstream_unavailable',
    });
    await client.close();
  });

  it('to connect in time did nothing', async () => {
    // Takes the connection and never shakes hands.
    const server = createServer((socket) => void socket.resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const client = createOpenAiClient({
      baseUrl: `https://127.0.0.1:${port}/v1`,
      apiKey: 'k',
      timeouts: { ...patient, connectMs: 100 },
    });
    expect(await rejectionOf(told(createOpenAiText({ client, counter })))).toMatchObject({
      failure: 'retry_same',
      code: 'upstream_unavailable',
    });
    await client.close();
    server.close();
  });

  it('by a host that speaks no TLS is another route’s chance', async () => {
    const client = createOpenAiClient({
      baseUrl: stub.baseUrl.replace('http:', 'https:'),
      apiKey: 'k',
      timeouts: patient,
    });
    expect(await rejectionOf(told(createOpenAiText({ client, counter })))).toMatchObject({
      failure: 'retry_other',
      code: 'upstream_unavailable',
    });
    await client.close();
  });

  it.each<[string, StubBehaviour, Partial<ProviderTimeouts>]>([
    ['no first byte in time', { kind: 'silence' }, { firstByteMs: 100 }],
    [
      'a stall in the stream',
      { kind: 'broken', chat: shortChat, after: 1, ending: 'stall' },
      { idleMs: 100 },
    ],
    ['an answer without end', { kind: 'endless', everyMs: 20 }, { totalMs: 300 }],
    ['a reset before the headers', { kind: 'hang-up' }, {}],
    ['a reset in the stream', { kind: 'broken', chat: shortChat, after: 1, ending: 'reset' }, {}],
    ['an early end', { kind: 'broken', chat: shortChat, after: 1, ending: 'end' }, {}],
    [
      'a stream without a finish reason',
      { kind: 'chat', pieces: ['x'], finish: null, usage: null, done: false },
      {},
    ],
    ['[DONE] without a finish reason', { kind: 'chat', pieces: ['x'], finish: null }, {}],
    ['an empty answer', { kind: 'raw', chunks: [] }, {}],
    [
      'JSON where a stream was asked for',
      { kind: 'raw', headers: { 'content-type': 'application/json' }, chunks: ['{"a":1}'] },
      {},
    ],
    ['garbage', { kind: 'raw', chunks: ['data: {"choices": [{]\n\n'] }, {}],
    [
      'an error in the stream',
      { kind: 'raw', chunks: ['data: {"error":{"message":"no","type":"server_error"}}\n\n'] },
      {},
    ],
    [
      'a line without end',
      { kind: 'raw', chunks: Array.from({ length: 10 }, () => 'x'.repeat(1024 * 1024)) },
      {},
    ],
  ])('by %s may have done its work', async (_name, behaviour, timeouts) => {
    expect(await failureOf(behaviour, timeouts)).toMatchObject({
      failure: 'ambiguous',
      code: 'upstream_error',
    });
  });

  it('in the stream with a status in its code counts as that status', async () => {
    const error = await failureOf({
      kind: 'raw',
      chunks: ['data: {"error":{"message":"slow down","code":429}}\n\n'],
    });
    expect(error).toMatchObject({ failure: 'retry_same', code: 'rate_limit_exceeded' });
  });
});

describe('an answer that nobody reads before its end', () => {
  const whole: TextRequest = { ...request, isWhole: true };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const json = (...chunks: string[]): StubBehaviour => ({
    kind: 'raw',
    headers: { 'content-type': 'application/json' },
    chunks,
  });
  const completion = (message: object, more: object = {}): StubBehaviour =>
    json(JSON.stringify({ choices: [{ message, finish_reason: 'stop', ...more }], usage }));

  /** A text whose upstream has answered before. */
  const knownText = async (timeouts: Partial<ProviderTimeouts> = {}): Promise<TextProvider> => {
    const text = createText(timeouts);
    await told(text, whole);
    return text;
  };

  it('is asked for in one piece once the upstream has shown that it is fast', async () => {
    const text = createText();
    await told(text, whole);
    expect(stub.requests.at(-1)?.body).toMatchObject({ stream: true });
    expect(contentOf(await told(text, whole))).toBe('Hello world');
    expect(stub.requests.at(-1)?.body).toEqual({
      model: 'upstream-model',
      messages: [{ role: 'user', content: 'Say hello' }],
      max_tokens: 50,
      stream: false,
    });
  });

  it('is a stream as long as the limit of its tokens, or its bulk, could keep the connection silent', async () => {
    const text = await knownText();
    await told(text, { ...whole, maxOutputTokens: 100_000_000 });
    expect(stub.requests.at(-1)?.body).toMatchObject({ stream: true });
    await told(text, { ...whole, options: { logprobs: true } });
    expect(stub.requests.at(-1)?.body).toMatchObject({ stream: true });
    await told(text, { ...whole, isWhole: false });
    expect(stub.requests.at(-1)?.body).toMatchObject({ stream: true });
  });

  it('has the same events as the stream of the same answer, each text in one piece', async () => {
    const text = await knownText();
    const words = { role: 'assistant', content: 'Hi', refusal: null, annotations: [] };
    stub.script(
      completion(words, { logprobs: null }),
      completion({ ...words, content: null, reasoning_content: 'Hm', refusal: 'No' }),
    );
    const told1 = await told(text, whole);
    expect(told1.slice(0, 2)).toEqual([
      { type: 'content', text: 'Hi' },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(usageOf(told1)).toMatchObject({ promptTokens: 3, completionTokens: 2 });
    expect((await told(text, whole)).slice(0, 2)).toEqual([
      { type: 'reasoning', text: 'Hm' },
      { type: 'refusal', text: 'No' },
    ]);
  });

  it('is read as a stream from an upstream that streams all the same', async () => {
    const text = await knownText();
    stub.script({ kind: 'split', chat: { kind: 'chat', pieces: ['a', 'b'] }, bytes: 50 });
    const events = await told(text, whole);
    expect(stub.requests.at(-1)?.body).toMatchObject({ stream: false });
    expect(events.slice(0, 2)).toEqual([
      { type: 'content', text: 'a' },
      { type: 'content', text: 'b' },
    ]);
  });

  it('keeps several calls apart that have no index and the same id', async () => {
    const text = await knownText();
    const call = (name: string) => ({ id: 'a', type: 'function', function: { name, arguments: '{}' } });
    stub.script(completion({ content: null, tool_calls: [call('one'), call('two')] }));
    const events = await told(text, whole);
    expect(events.slice(0, 2)).toEqual([
      { type: 'tool_call', index: 0, id: 'a', name: 'one', arguments: '{}' },
      { type: 'tool_call', index: 1, id: 'a', name: 'two', arguments: '{}' },
    ]);
    expect(finishOf(events)).toBe('tool_calls');
  });

  it('may be silent longer than a stream, by how fast its model is known to be', async () => {
    const answerAfter = (ms: number, type: string, body: string): StubBehaviour => ({
      kind: 'raw',
      headers: { 'content-type': type },
      chunks: (async function* () {
        await new Promise((resolve) => setTimeout(resolve, ms));
        yield body;
      })(),
    });
    const choice = { message: { content: 'late' }, delta: { content: 'late' }, finish_reason: 'stop' };
    const body = JSON.stringify({ choices: [choice], usage });
    const text = createText({ firstByteMs: 2_000, idleMs: 2_000 });
    stub.script(answerAfter(500, 'text/event-stream', `data: ${body}\n\ndata: [DONE]\n\n`));
    await told(text, whole);
    stub.script(answerAfter(2_800, 'application/json', body));
    expect(contentOf(await told(text, whole))).toBe('late');
    expect(stub.requests.at(-1)?.body).toMatchObject({ stream: false });
    // Much longer than that is no answer any more, although the whole one may take minutes.
    stub.script({ kind: 'silence' });
    expect(await rejectionOf(told(text, whole))).toMatchObject({ failure: 'ambiguous' });
    await told(text, whole);
    expect(stub.requests.at(-1)?.body).toMatchObject({ stream: true });
  });

  it('is asked for as a stream at once, and from then on, if the model refuses to answer otherwise', async () => {
    const text = await knownText();
    stub.script({ kind: 'error', status: 400, message: 'This model only supports streams' });
    const before = stub.requests.length;
    for (const _call of [1, 2, 3]) expect(contentOf(await told(text, whole))).toBe('Hello world');
    const asked = stub.requests.slice(before).map(({ body }) => body);
    expect(asked).toMatchObject([{ stream: false }, { stream: true }, { stream: true }, { stream: true }]);
  });

  it('that is refused as a stream, too, fails as the request deserves, and is no sign of the model', async () => {
    const text = await knownText();
    const refusal: StubBehaviour = { kind: 'error', status: 400, message: 'no such thing' };
    stub.script(refusal, refusal);
    expect(await rejectionOf(told(text, whole))).toMatchObject({
      failure: 'fatal',
      code: 'invalid_parameter',
    });
    await told(text, whole);
    await told(text, whole);
    expect(stub.requests.at(-1)?.body).toMatchObject({ stream: false });
  });

  it.each<[string, StubBehaviour]>([
    ['a reset', { kind: 'hang-up' }],
    ['an answer without a finish reason', completion({ content: 'x' }, { finish_reason: null })],
    ['an answer that is not JSON', json('data: [DONE]\n\n')],
    ['an empty answer', json('')],
    ['an error with status 200', json('{"error":{"message":"no"}}')],
    ['an answer without end', json(...Array.from({ length: 10 }, () => ' '.repeat(2 ** 20)))],
  ])('fails by %s, after which the next one is a stream', async (_name, behaviour) => {
    const text = await knownText();
    stub.script(behaviour);
    const failure = { failure: 'ambiguous', code: 'upstream_error' };
    expect(await rejectionOf(told(text, whole))).toMatchObject(failure);
    await told(text, whole);
    expect(stub.requests.at(-1)?.body).toMatchObject({ stream: true });
  });

  it('ends with the reason of an abort, and closes the connection', async () => {
    const text = await knownText();
    stub.script({ kind: 'silence' });
    const before = stub.requests.length;
    const controller = new AbortController();
    const reading = told(text, whole, controller.signal);
    while (stub.requests.length === before) await stub.nextRequest();
    const reason = new Error('the process is ending');
    controller.abort(reason);
    expect(await rejectionOf(reading)).toBe(reason);
    await stub.requests.at(-1)?.closed;
  });
});

describe('an abort', () => {
  const abortWhen = async (behaviour: StubBehaviour, isTime: (event: TextEvent) => boolean) => {
    stub.script(behaviour);
    const controller = new AbortController();
    const reason = new Error('the caller has gone');
    const reading = createText().answer(request, {
      signal: controller.signal,
      emit: (event) => {
        if (isTime(event)) controller.abort(reason);
      },
    });
    return { controller, reason, reading };
  };

  it('in the middle ends the stream with its reason and closes the connection', async () => {
    const { reading, reason } = await abortWhen({ kind: 'endless', everyMs: 5 }, () => true);
    expect(await rejectionOf(reading)).toBe(reason);
    await stub.requests.at(-1)?.closed;
  });

  it('before the first byte ends the wait', async () => {
    const before = stub.requests.length;
    const { reading, reason, controller } = await abortWhen({ kind: 'silence' }, () => false);
    while (stub.requests.length === before) await stub.nextRequest();
    controller.abort(reason);
    expect(await rejectionOf(reading)).toBe(reason);
    await stub.requests.at(-1)?.closed;
  });

  it('before the call asks nobody', async () => {
    const before = stub.requests.length;
    const reason = new Error('too late');
    expect(await rejectionOf(told(createText(), request, AbortSignal.abort(reason)))).toBe(reason);
    expect(stub.requests.length).toBe(before);
  });

  it('by a reader that takes no more closes a stream without end', async () => {
    stub.script({ kind: 'endless', everyMs: 5 });
    const enough = new RangeError('enough');
    const emit = (): never => {
      throw enough;
    };
    expect(await rejectionOf(createText().answer(request, { signal: noAbort(), emit }))).toBe(enough);
    await stub.requests.at(-1)?.closed;
  });
});
