import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startUpstreamGateway, type UpstreamGateway } from './start-upstream-gateway.ts';

let up: UpstreamGateway;

beforeAll(async () => {
  up = await startUpstreamGateway();
});

beforeEach(() => void up.takeAsked());

afterAll(() => up.stop());

/** What the upstream is asked when the gateway is asked for a stream so. */
const askedUpstream = async (body: object): Promise<Record<string, unknown>> => {
  const answer = await up.ask({ stream: true, ...body });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('chat.completion')]);
  const asked = up.takeAsked();
  expect(asked).toHaveLength(1);
  return asked[0] ?? {};
};

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
    strict: true,
  },
};

const bestEffort = {
  tools: [weather],
  tool_choice: 'auto',
  temperature: 0.5,
  top_p: 0.9,
  presence_penalty: -0.5,
  frequency_penalty: 1,
  stop: ['END', 'STOP'],
  logit_bias: { '50256': -100 },
  seed: 7,
  top_logprobs: 2,
  logprobs: true,
  parallel_tool_calls: false,
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
  moderation: { model: 'm' },
  prediction: { type: 'content', content: 'Blue' },
  audio: { voice: 'alloy', format: 'pcm16' },
  web_search_options: { search_context_size: 'low' },
  prompt_cache_options: { ttl: '1h' },
  extra_body: { google: { thinking_config: { include_thoughts: true } } },
  reasoning_effort: 'low',
  service_tier: 'auto',
  verbosity: 'low',
  prompt_cache_retention: '24h',
  function_call: 'auto',
  functions: [{ name: 'old', parameters: { type: 'object' } }],
  modalities: ['text', 'audio'],
};

const staysHere = {
  n: 1,
  best_of: 1,
  candidate_count: 1,
  num_return_sequences: 1,
  store: true,
  metadata: { secret: 'm-1' },
  user: 'u-1',
  safety_identifier: 's-1',
  prompt_cache_key: 'k-1',
  conversation_id: 'c-1',
};

const least = {
  model: 'upstream-name',
  messages: [{ role: 'user', content: 'Hello' }],
  max_tokens: 100,
  stream: true,
  stream_options: { include_usage: true },
};

describe('what a chat request asks of the upstream', () => {
  it('is every best-effort field as it came, and nothing that stays here or is unknown', async () => {
    const asked = await askedUpstream({
      ...bestEffort,
      ...staysHere,
      max_tokens: 100,
      unknown_key: { a: [1] },
    });
    expect(asked).toEqual({ ...least, ...bestEffort });
  });

  it('is nothing of fields that are null', async () => {
    const names = Object.keys({ ...bestEffort, ...staysHere, stream_options: null, model: null });
    const nulls = Object.fromEntries(names.map((name) => [name, null]));
    expect(await askedUpstream({ ...nulls, max_completion_tokens: 100, max_tokens: null })).toEqual(least);
  });

  it('is no seed that a number of JSON cannot say exactly, and any other', async () => {
    for (const [seed, asked] of [[0, 0], [2 ** 53 - 1, 2 ** 53 - 1], [2 ** 53], [-(2 ** 63)], [1e300]])
      expect((await askedUpstream({ seed }))['seed']).toBe(asked);
  });

  it('is never less than the usage, whatever stream_options says', async () => {
    const stream_options = { include_usage: false, include_obfuscation: false };
    const asked = await askedUpstream({ stream_options });
    expect(asked['stream_options']).toEqual({ include_usage: true, include_obfuscation: false });
  });

  it('is nothing that extra_body brings in by a name that the request has itself', async () => {
    const asked = await askedUpstream({
      max_tokens: 100,
      extra_body: { ...staysHere, n: 8, best_of: 8, model: 'other', max_tokens: 9, messages: [], top_k: 3 },
    });
    expect(asked).toEqual({ ...least, extra_body: { top_k: 3 } });
  });

  it.each([
    ['max_tokens', 1],
    ['max_tokens', 30_000],
    ['max_completion_tokens', 65_536],
  ])('is at most the output that %s %i names', async (name, limit) => {
    expect(await askedUpstream({ [name]: limit })).toMatchObject({ max_tokens: limit });
  });

  it('is at most 16,384 tokens of output where the caller names no limit', async () => {
    expect(await askedUpstream({})).toMatchObject({ max_tokens: 16_384 });
  });

  it.each(['auto', 'required', 'none', { type: 'function', function: { name: 'get_weather' } }])(
    'is the tool choice %o',
    async (choice) => {
      expect(await askedUpstream({ tools: [weather], tool_choice: choice })).toMatchObject({
        tools: [weather],
        tool_choice: choice,
      });
    },
  );

  it('is the legacy function call that was asked for', async () => {
    const legacy = { functions: bestEffort.functions, function_call: { name: 'old' } };
    expect(await askedUpstream(legacy)).toMatchObject(legacy);
  });

  it.each(['END', ['a', 'b', 'c']])('is to stop at %o', async (stop) => {
    expect(await askedUpstream({ stop })).toMatchObject({ stop });
  });

  it('has no names of participants', async () => {
    const call = { name: 'old', arguments: '{}' };
    const asked = await askedUpstream({
      messages: [
        { role: 'system', name: 'Ada', content: 'Be short.' },
        { role: 'developer', name: 'Ada', content: 'Be kind.' },
        { role: 'user', name: 'Ada', content: 'Hi' },
        { role: 'assistant', name: 'Ada', content: null, function_call: call },
        { role: 'function', name: 'old', content: '{}' },
        { role: 'assistant', name: null, content: 'Hello', refusal: 'no', annotations: [{ type: 'x' }] },
      ],
    });
    expect(asked['messages']).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, function_call: call },
      // The name of a function is no participant's, and the legacy role cannot be without it.
      { role: 'function', name: 'old', content: '{}' },
      { role: 'assistant', content: 'Hello', refusal: 'no' },
    ]);
  });

  it('has every form of content part', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const breakpoint = { prompt_cache_breakpoint: { type: 'ephemeral' } };
    const content = [
      { type: 'text', text: 'Look and listen', ...breakpoint },
      { type: 'image_url', image_url: { url, detail: 'low' } },
      { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/4AAQ' }, ...breakpoint },
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' }, ...breakpoint },
    ];
    const bare = [
      { type: 'text', text: 'and' },
      { type: 'image_url', image_url: { url } },
    ];
    const nulls = [
      { ...bare[0], prompt_cache_breakpoint: null },
      { ...bare[1], image_url: { url, detail: null } },
    ];
    const asked = await askedUpstream({ messages: [{ role: 'user', content: [...content, ...nulls] }] });
    expect(asked['messages']).toEqual([{ role: 'user', content: [...content, ...bare] }]);
  });

  it('names an earlier spoken answer by its id alone', async () => {
    const spoken = { id: 'audio_1', data: 'AAAA', transcript: 'Hi', expires_at: 1 };
    const asked = await askedUpstream({
      messages: [
        { role: 'assistant', content: null, audio: spoken },
        { role: 'user', content: 'Again', audio: spoken },
      ],
    });
    expect(asked['messages']).toEqual([
      { role: 'assistant', content: null, audio: { id: 'audio_1' } },
      { role: 'user', content: 'Again' },
    ]);
  });
});

describe('a tool call', () => {
  const calls = [
    {
      id: 'call_b7',
      type: 'function',
      function: { name: 'get_weather', arguments: '{ "city":"Köln",\n"n": 1.0 }' },
      extra_content: { google: { thought_signature: 'c2lnbg==' } },
    },
    { id: 'call_a1', type: 'function', function: { name: 'get_weather', arguments: '' } },
  ];
  const pieces = [
    { index: 0, ...calls[0], function: { name: 'get_weather', arguments: '{ "city":"Köln",' } },
    { index: 0, function: { arguments: '\n"n": 1.0 }' } },
    { index: 1, ...calls[1] },
  ];
  const answer = {
    kind: 'raw' as const,
    chunks: [
      ...pieces.map((call) => ({ choices: [{ index: 0, delta: { tool_calls: [call] } }] })),
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } },
    ].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`),
  };

  interface Completion {
    choices: { message: { content: null; tool_calls: object[] }; finish_reason: string }[];
  }

  it('comes as the upstream made it, and goes back to it byte for byte with its output', async () => {
    up.upstream.script(answer);
    const completion = (await (await up.ask({ tools: [weather] })).json()) as Completion;
    const [choice] = completion.choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    expect(JSON.stringify(choice?.message.tool_calls)).toBe(JSON.stringify(calls));
    up.takeAsked();
    const output = { role: 'tool', tool_call_id: 'call_b7', content: [{ type: 'text', text: 'Rain' }] };
    const asked = await askedUpstream({
      messages: [
        { role: 'user', content: 'Weather?' },
        choice?.message,
        output,
        { ...output, tool_call_id: 'call_a1', name: 'get_weather', content: 'Sun' },
      ],
    });
    const [, assistant, ...outputs] = asked['messages'] as { tool_calls?: object[] }[];
    expect(assistant).toEqual({ role: 'assistant', content: null, tool_calls: calls });
    expect(JSON.stringify(assistant?.tool_calls)).toBe(JSON.stringify(calls));
    expect(outputs).toEqual([output, { role: 'tool', tool_call_id: 'call_a1', content: 'Sun' }]);
  });

  it('is the same in pieces', async () => {
    up.upstream.script(answer);
    const text = await (await up.ask({ tools: [weather], stream: true })).text();
    const deltas = [...text.matchAll(/^data: (\{.*)$/gm)]
      .map(([, data]) => JSON.parse(data ?? '').choices[0]?.delta.tool_calls?.[0])
      .filter((delta) => delta !== undefined);
    expect(deltas).toEqual(pieces);
  });
});

describe('a chat request is refused by name, costs nothing and reaches nobody', () => {
  const messages = [{ role: 'user', content: 'Hello' }];
  const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
  const part = (content: object) => user([content]);
  const image = (url: string) => ({ type: 'image_url', image_url: { url } });

  it.each<[object, string]>([
    [{ messages: undefined }, 'messages'],
    [{ messages: null }, 'messages'],
    [{ messages: [] }, 'messages'],
    [{ messages: 'Hello' }, 'messages'],
    [{ messages: ['Hello'] }, 'messages.0'],
    [{ messages: [...messages, { role: 'robot', content: 'x' }] }, 'messages.1.role'],
    [{ messages: [{ content: 'x' }] }, 'messages.0.role'],
    [{ messages: [{ role: 'user', content: 'x', name: 7 }] }, 'messages.0.name'],
    [{ messages: [{ role: 'assistant', tool_calls: [7] }] }, 'messages.0.tool_calls.0'],
    [{ messages: [{ role: 'tool', tool_call_id: 7, content: 'x' }] }, 'messages.0.tool_call_id'],
    [{ messages: [{ role: 'assistant', function_call: 'f' }] }, 'messages.0.function_call'],
    [{ messages: [{ role: 'assistant', refusal: {} }] }, 'messages.0.refusal'],
    [{ messages: [{ role: 'assistant', audio: 'x' }] }, 'messages.0.audio'],
    [{ messages: [{ role: 'assistant', annotations: {} }] }, 'messages.0.annotations'],
    [user(7), 'messages.0.content'],
    [part({ type: 'video' }), 'messages.0.content'],
    [part({ type: 'text' }), 'messages.0.content'],
    [part({ type: 'text', text: 'x', prompt_cache_breakpoint: 'x' }), 'messages.0.content'],
    [part({ type: 'image_url' }), 'messages.0.content'],
    [part({ type: 'image_url', image_url: {} }), 'messages.0.content'],
    [part({ type: 'image_url', image_url: { url: 'ftp://example.com/a.png' } }), 'messages.0.content'],
    [part({ type: 'image_url', image_url: { url: 'data:text/html;base64,QUJD' } }), 'messages.0.content'],
    [part({ type: 'input_audio', input_audio: {} }), 'messages.0.content'],
    ...['', '@@@@', 'QUJD\nQUJD', 'QUJ', 'QUJ=QUJD'].flatMap((data): [object, string][] => [
      [part(image(`data:image/png;base64,${data}`)), 'messages.0.content.0.image_url.url'],
      [
        part({ type: 'input_audio', input_audio: { data, format: 'wav' } }),
        'messages.0.content.0.input_audio.data',
      ],
    ]),
    [{ model: '' }, 'model'],
    [{ stream: 'yes' }, 'stream'],
    [{ conversation_id: 7 }, 'conversation_id'],
    [{ n: 2 }, 'n'],
    [{ n: 0 }, 'n'],
    [{ best_of: 2 }, 'best_of'],
    [{ candidate_count: 2 }, 'candidate_count'],
    [{ num_return_sequences: 2 }, 'num_return_sequences'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_tokens: 65_537 }, 'max_tokens'],
    [{ max_tokens: 1.5 }, 'max_tokens'],
    [{ max_tokens: '5' }, 'max_tokens'],
    [{ max_completion_tokens: 65_537 }, 'max_completion_tokens'],
    [{ max_tokens: 5, max_completion_tokens: 5 }, 'max_tokens'],
    [{ tools: {} }, 'tools'],
    [{ tools: [{ type: 'web_search' }] }, 'tools.0.type'],
    [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools.0.type'],
    [{ tools: [{ type: 'function' }] }, 'tools.0.function'],
    [{ tool_choice: 'perhaps' }, 'tool_choice'],
    [{ tool_choice: { type: 'custom', custom: { name: 'x' } } }, 'tool_choice'],
    [{ tool_choice: { type: 'function' } }, 'tool_choice'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tools: [], tool_choice: 'required' }, 'tool_choice'],
    [{ tools: [weather], tool_choice: { type: 'function', function: { name: 'other' } } }, 'tool_choice'],
    [{ tool_choice: { type: 'function', function: { name: 'get_weather' } } }, 'tool_choice'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a' } } },
      'response_format.json_schema.schema',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: 'x' } } },
      'response_format.json_schema.schema',
    ],
    [{ temperature: 'hot' }, 'temperature'],
    [{ top_p: '1' }, 'top_p'],
    [{ presence_penalty: true }, 'presence_penalty'],
    [{ frequency_penalty: [] }, 'frequency_penalty'],
    [{ stop: [1] }, 'stop'],
    [{ logit_bias: { '1': 0.5 } }, 'logit_bias.1'],
    [{ seed: 1.5 }, 'seed'],
    [{ top_logprobs: 'all' }, 'top_logprobs'],
    [{ logprobs: 1 }, 'logprobs'],
    [{ parallel_tool_calls: 'no' }, 'parallel_tool_calls'],
    [{ store: 'no' }, 'store'],
    ...[
      'response_format',
      'stream_options',
      'metadata',
      'moderation',
      'prediction',
      'audio',
      'web_search_options',
      'prompt_cache_options',
      'extra_body',
    ].map((name): [object, string] => [{ [name]: 'x' }, name]),
    ...[
      'reasoning_effort',
      'service_tier',
      'verbosity',
      'prompt_cache_retention',
      'user',
      'safety_identifier',
      'prompt_cache_key',
    ].map((name): [object, string] => [{ [name]: 7 }, name]),
    [{ function_call: 7 }, 'function_call'],
    [{ functions: {} }, 'functions'],
    [{ modalities: 'text' }, 'modalities'],
    [{ webhook_url: 'https://example.com/hook' }, 'webhook_url'],
    [{ custom_data: { a: 1 } }, 'custom_data'],
  ])('%j', async (body, param) => {
    const before = await up.balance();
    const answer = await up.ask(body);
    const { detail, error } = (await answer.json()) as {
      detail: { loc: (string | number)[]; msg: string; type: string }[];
      error: { type: string; code: string; message: string; param: string };
    };
    expect(answer.status).toBe(422);
    expect(error).toMatchObject({ type: 'invalid_request_error', code: 'invalid_parameter' });
    expect(`${error.param}.`.startsWith(`${param}.`)).toBe(true);
    expect(detail[0]).toEqual({ loc: expect.any(Array), msg: expect.any(String), type: expect.any(String) });
    expect(detail[0]?.loc.join('.')).toBe(`body.${error.param}`);
    expect(up.takeAsked()).toEqual([]);
    expect(await up.balance()).toBe(before);
  });

  it('for a model that is not sold', async () => {
    const answer = await up.ask({ model: 'textmodel-unknown' });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'model_not_found', param: 'model' },
    });
    expect(up.takeAsked()).toEqual([]);
  });
});
