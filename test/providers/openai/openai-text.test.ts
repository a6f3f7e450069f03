import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProviderTimeouts } from '../../../src/providers/remote-settings.ts';
import { createEventReader } from '../../../src/providers/openai/openai-client.ts';
import type { TextEvent, TextRequest } from '../../../src/providers/text/text-provider.ts';
import { argumentsOf, contentOf, finishOf, noAbort, rejectionOf, usageOf } from '../collect.ts';
import { chatStream, type StubBehaviour, type StubChat } from '../stub-upstream.ts';
import { request, told, useStub } from './ask-stub.ts';

const used = useStub();
const { createText } = used;

const ask = (
  changes: Partial<TextRequest> = {},
  timeouts: Partial<ProviderTimeouts> = {},
): Promise<TextEvent[]> => told(createText(timeouts), { ...request, ...changes });

describe('what goes upstream', () => {
  it('is a streaming chat completion with usage, the model, the limit and the key', async () => {
    await ask({
      options: { temperature: 0.5, stream_options: { include_obfuscation: false, include_usage: false } },
    });
    const sent = used.stub.requests.at(-1);
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

  it('has no key when none is configured', async () => {
    await told(createText({}, null));
    expect(used.stub.requests.at(-1)?.headers.authorization).toBeUndefined();
  });

  it('goes over connections that were used before', async () => {
    const text = createText();
    const start = used.stub.requests.length;
    for (let count = 0; count < 10; count += 1) await told(text);
    const connections = used.stub.requests.slice(start).map(({ connection }) => connection);
    // The end of one answer may still be on its way when the next call is made.
    expect(new Set(connections).size).toBeLessThanOrEqual(3);
  });
});

describe('an answer', () => {
  it('is content, then finish, then usage', async () => {
    used.stub.script({
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
    used.stub.script({
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
    used.stub.script({ kind: 'chat', functionCall: { name: 'weather', arguments: ['{"a"', ':1}'] } });
    const events = await ask();
    expect(events[0]).toEqual({ type: 'tool_call', index: 0, name: 'weather', arguments: '' });
    expect(argumentsOf(events)).toBe('{"a":1}');
    expect(finishOf(events)).toBe('function_call');
  });

  it('bills reasoning that the upstream left out of its completion tokens', async () => {
    used.stub.script({
      kind: 'chat',
      pieces: ['x'],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 40 },
    });
    expect(usageOf(await ask())).toMatchObject({ promptTokens: 10, completionTokens: 30 });
  });

  it.each([
    ['none', null],
    ['nothing but zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    ['no tokens of an answer with words', { prompt_tokens: 30, completion_tokens: 0, total_tokens: 30 }],
  ])('has usage of our own count when the upstream reports %s', async (_name, usage) => {
    used.stub.script({ kind: 'chat', pieces: ['Hello', ' world'], usage });
    // "Say hello" is two tokens; the chat format adds seven.
    expect(usageOf(await ask())).toEqual({
      promptTokens: 9,
      completionTokens: 2,
      cachedTokens: null,
      reasoningTokens: null,
    });
  });

  it('is complete with a finish reason, whether or not [DONE] follows', async () => {
    used.stub.script({ kind: 'chat', pieces: ['ok'], done: false });
    expect(finishOf(await ask())).toBe('stop');
  });

  it.each([
    ['breaks off', () => Promise.reject(new Error('the machine fails'))],
    ['stays open', () => new Promise<string>(() => undefined)],
    ['ends in the middle of an event', () => Promise.resolve('data: {"choi')],
  ])('is complete, and counted, when its connection %s after the finish reason', async (_how, ending) => {
    const usage = { prompt_tokens: 70, completion_tokens: 20 };
    const whole = chatStream({ kind: 'chat', pieces: ['ok'], usage, done: false });
    used.stub.script({
      kind: 'raw',
      chunks: (async function* () {
        yield whole;
        yield await ending();
      })(),
    });
    const events = await ask({}, { idleMs: 200 });
    expect([contentOf(events), finishOf(events)]).toEqual(['ok', 'stop']);
    expect(usageOf(events)).toMatchObject({ promptTokens: 70, completionTokens: 20 });
  });

  it('is complete without the empty line after its last event', async () => {
    const last = { choices: [{ delta: { content: 'ok' }, finish_reason: 'stop' }] };
    used.stub.script({ kind: 'raw', chunks: [`data: ${JSON.stringify(last)}\n`] });
    expect(finishOf(await ask())).toBe('stop');
  });

  it.each([1, 2, 7, 64])('is the same in network pieces of %i bytes with CRLF line ends', async (bytes) => {
    const chat: StubChat = { kind: 'chat', pieces: ['naïve ', '日本語 ', '🌍🚀', '\r\n"quoted"'] };
    used.stub.script({ kind: 'split', chat, bytes, lineEnd: '\r\n' });
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
    used.stub.script({
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
    used.stub.script({ kind: 'raw', chunks: [strange.join('\n\n'), '\n\n'] });
    const events = await ask();
    expect(contentOf(events)).toBe('ok');
    expect(events.filter(({ type }) => type === 'finish')).toEqual([{ type: 'finish', reason: 'stop' }]);
    expect(events.filter(({ type }) => type === 'usage')).toHaveLength(1);
  });

  it('is the choice of index 0 where an upstream sends several unasked, as a stream and in one piece', async () => {
    const both = (first: object, second: object) =>
      JSON.stringify({
        choices: [
          { index: 1, ...second },
          { index: 0, ...first },
        ],
      });
    const piece = (index: number, content: string, finish_reason: string | null = null) =>
      JSON.stringify({ choices: [{ index, delta: { content }, finish_reason }] });
    const stream = [
      piece(1, 'Good '),
      piece(0, 'Hel'),
      piece(1, 'day', 'length'),
      both({ delta: { content: 'lo' } }, { delta: { content: '.' } }),
      piece(0, '', 'stop'),
    ];
    const whole = both(
      { message: { content: 'Hello' }, finish_reason: 'stop' },
      { message: { content: 'Good day.' }, finish_reason: 'length' },
    );
    const text = createText();
    await told(text, { ...request, isWhole: true });
    used.stub.script(
      { kind: 'raw', chunks: stream.map((chunk) => `data: ${chunk}\n\n`) },
      { kind: 'raw', headers: { 'content-type': 'application/json' }, chunks: [whole] },
    );
    for (const isWhole of [false, true]) {
      const events = await told(text, { ...request, isWhole });
      expect([contentOf(events), finishOf(events)]).toEqual(['Hello', 'stop']);
    }
  });

  /** The events of an answer whose pieces of calls are these, one in a chunk. */
  const askForCalls = async (...pieces: [number | undefined, string, string?, string?][]) => {
    const chunks = pieces.map(([index, text, id, name]) => {
      const call = { index, id, function: { name, arguments: text } };
      return `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] })}\n\n`;
    });
    const end = 'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\n';
    used.stub.script({ kind: 'raw', chunks: [...chunks, end] });
    const calls = (await ask()).filter((event) => event.type === 'tool_call');
    return calls.map(({ index, id, name, arguments: text }) => [index, text, id, name]);
  };

  it('keeps parallel calls apart that come under one index', async () => {
    const [first, second] = [[0, '{"c":1}', 'call_a', 'w'] as const, [0, '{"c"', 'call_b', 'w'] as const];
    expect(await askForCalls([...first], [...second], [0, ':2}'])).toEqual([
      [0, '{"c":1}', 'call_a', 'w'],
      [1, '{"c"', 'call_b', 'w'],
      [1, ':2}', undefined, undefined],
    ]);
  });

  it('has one call, whose pieces come with new ids or with the same id and name', async () => {
    const one = [
      [0, '{', 'call_a', 'w'],
      [0, '}', undefined, undefined],
    ];
    expect(await askForCalls([0, '{', 'call_a', 'w'], [0, '}', 'call_b'])).toEqual(one);
    expect(await askForCalls([0, '{', 'call_a', 'w'], [0, '}', 'call_a', 'w'])).toEqual(one);
  });

  it('counts calls from 0, also where the upstream counts from 1 and mixes their pieces', async () => {
    expect(
      await askForCalls([1, '', 'call_a', 'one'], [2, '', 'call_b', 'two'], [1, '{}'], [2, '[]']),
    ).toEqual([
      [0, '', 'call_a', 'one'],
      [1, '', 'call_b', 'two'],
      [0, '{}', undefined, undefined],
      [1, '[]', undefined, undefined],
    ]);
  });

  it('has the words and the thoughts of content that is a list of parts', async () => {
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] };
    const contents = [
      [thinking],
      [{ ...thinking, thinking: null }, 7, { type: 'text', text: 'Hello' }],
      ' you',
    ];
    const chunks = contents.map((content) => ({ choices: [{ delta: { content } }] }));
    const end = { choices: [{ delta: { content: [] }, finish_reason: 'stop' }] };
    used.stub.script({
      kind: 'raw',
      chunks: [...chunks, end].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`),
    });
    expect((await ask()).slice(0, -2)).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'content', text: 'Hello' },
      { type: 'content', text: ' you' },
    ]);
  });

  it('gets ids and indexes for calls that have none', async () => {
    const call = (name: string, id?: string) =>
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ id, function: { name, arguments: { a: 1 } } }] } }] })}\n\n`;
    used.stub.script({
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

describe('an abort', () => {
  const abortWhen = async (behaviour: StubBehaviour, isTime: (event: TextEvent) => boolean) => {
    used.stub.script(behaviour);
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
    await used.stub.requests.at(-1)?.closed;
  });

  it('before the first byte ends the wait', async () => {
    const before = used.stub.requests.length;
    const { reading, reason, controller } = await abortWhen({ kind: 'silence' }, () => false);
    while (used.stub.requests.length === before) await used.stub.nextRequest();
    controller.abort(reason);
    expect(await rejectionOf(reading)).toBe(reason);
    await used.stub.requests.at(-1)?.closed;
  });

  it('before the call asks nobody', async () => {
    const before = used.stub.requests.length;
    const reason = new Error('too late');
    expect(await rejectionOf(told(createText(), request, AbortSignal.abort(reason)))).toBe(reason);
    expect(used.stub.requests.length).toBe(before);
  });

  it('by a reader that takes no more closes a stream without end', async () => {
    used.stub.script({ kind: 'endless', everyMs: 5 });
    const enough = new RangeError('enough');
    const emit = (): never => {
      throw enough;
    };
    expect(await rejectionOf(createText().answer(request, { signal: noAbort(), emit }))).toBe(enough);
    await used.stub.requests.at(-1)?.closed;
  });
});
