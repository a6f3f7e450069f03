import OpenAI from 'openai';
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import {
  shortChat,
  startStubUpstream,
  type StubBehaviour,
  type StubUpstream,
} from '../providers/stub-upstream.ts';
import { model, readEvents, weather } from './response-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

describe('a real upstream', () => {
  let upstream: StubUpstream;
  let served: TestGateway;

  beforeAll(async () => {
    upstream = await startStubUpstream();
    served = await startTestGateway({
      environment: { UPSTREAM_KEY: 'upstream-secret' },
      yaml: `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}", api_key_env: UPSTREAM_KEY, first_byte_ms: 500, idle_ms: 500 }
models:
  ${model}:
    kind: chat
    price: { unit: token, input_usd_per_1m: "1.05", output_usd_per_1m: "6.30" }
    routes: [{ provider: up, model: upstream-name }]
`,
    });
    served.apiKey = (await openAccount(served.services)).apiKey;
  });

  afterAll(async () => {
    await served.stop();
    await upstream.close();
  });

  const post = (body: object): Promise<Response> =>
    served.call('/v1/responses', { body: { model, ...body }, apiKey: served.apiKey });

  const usage = {
    prompt_tokens: 30,
    completion_tokens: 20,
    prompt_tokens_details: { cached_tokens: 10 },
    completion_tokens_details: { reasoning_tokens: 5 },
  };

  it('gets the request as a chat, with nothing that is private or ignored', async () => {
    upstream.script(shortChat);
    const answer = await post({
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: 'Weather?' },
        { type: 'function_call', call_id: 'c1', name: 'get_weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'Sun' },
      ],
      tools: [weather],
      text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true } },
      max_output_tokens: 50,
      temperature: 0.5,
      user: 'u-1',
      metadata: { secret: 'm-1' },
      reasoning: { effort: 'high' },
      service_tier: 'flex',
      prompt_cache_key: 'p-1',
      store: false,
    });
    expect(answer.status).toBe(200);
    expect(upstream.requests.at(-1)?.body).toEqual({
      model: 'upstream-name',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'Sun' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: weather.name,
            description: weather.description,
            parameters: weather.parameters,
            strict: true,
          },
        },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', schema: { type: 'object' }, strict: true },
      },
      temperature: 0.5,
      max_tokens: 50,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('may think aloud, speak and call several functions in one answer', async () => {
    const toolCalls = [
      { id: 'c1', name: 'get_weather', arguments: ['{"city":', '"Oslo"}'] },
      { id: 'c2', name: 'get_weather', arguments: ['{"city":"Bergen"}'] },
    ];
    upstream.script({
      kind: 'chat',
      reasoning: ['Let me ', 'see.'],
      pieces: ['I ', 'look.'],
      toolCalls,
      finish: 'tool_calls',
      usage,
    });
    const client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: served.apiKey, maxRetries: 0 });
    const stream = client.responses.stream({ model, input: 'Weather?', tools: [weather] });
    const thoughts: string[] = [];
    stream.on('response.reasoning_text.delta', ({ delta }) => thoughts.push(delta));
    const final = await stream.finalResponse();
    expect(thoughts).toEqual(['Let me ', 'see.']);
    expect(final.output).toMatchObject([
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Let me see.' }] },
      { type: 'message', content: [{ text: 'I look.' }] },
      { type: 'function_call', call_id: 'c1', parsed_arguments: { city: 'Oslo' } },
      { type: 'function_call', call_id: 'c2', parsed_arguments: { city: 'Bergen' } },
    ]);
    expect(final.usage).toEqual({
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 10, cache_write_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 50,
    });
    upstream.script(shortChat);
    const input = [
      { role: 'user' as const, content: 'Weather?' },
      ...final.output.map(({ id }) => ({ type: 'item_reference' as const, id: id ?? '' })),
      { type: 'function_call_output' as const, call_id: 'c1', output: 'Sun' },
      { type: 'function_call_output' as const, call_id: 'c2', output: 'Rain' },
    ];
    await client.responses.create({ model, input, tools: [weather] });
    expect(upstream.requests.at(-1)?.body).toMatchObject({
      messages: [
        { role: 'user' },
        { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'c1' }, { id: 'c2' }] },
        { role: 'tool', tool_call_id: 'c1', content: 'Sun' },
        { role: 'tool', tool_call_id: 'c2', content: 'Rain' },
      ],
    });
  });

  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

  it('gets back what it sent with a call, whether the item is replayed or named', async () => {
    const extra = { google: { thought_signature: 'c2ln' } };
    const called = {
      index: 0,
      id: 'c1',
      type: 'function',
      function: { name: 'get_weather', arguments: '{}' },
    };
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://example.com' } }];
    upstream.script({
      kind: 'raw',
      headers: { 'content-type': 'text/event-stream' },
      chunks: [
        chunk({ content: '', annotations }),
        chunk({ tool_calls: [{ ...called, extra_content: extra }] }, 'tool_calls'),
        `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
        'data: [DONE]\n\n',
      ],
    });
    const client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: served.apiKey, maxRetries: 0 });
    const { output } = await client.responses.create({ model, input: 'Weather?', tools: [weather] });
    expect(output).toEqual([expect.objectContaining({ type: 'function_call', extra_content: extra })]);
    const reference = { type: 'item_reference' as const, id: output[0]?.id ?? '' };
    for (const items of [toResponseInputItems(output), [reference]]) {
      upstream.script(shortChat);
      await client.responses.create({
        model,
        input: [...items, { type: 'function_call_output', call_id: 'c1', output: 'Sun' }],
      });
      expect(upstream.requests.at(-1)?.body).toMatchObject({
        messages: [{ role: 'assistant', tool_calls: [{ id: 'c1', extra_content: extra }] }, { role: 'tool' }],
      });
    }
  });

  it('may refuse in words', async () => {
    upstream.script({
      kind: 'raw',
      headers: { 'content-type': 'text/event-stream' },
      chunks: [
        chunk({ refusal: 'I will ' }),
        chunk({ refusal: 'not.' }, 'stop'),
        `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
        'data: [DONE]\n\n',
      ],
    });
    const events = await readEvents(await post({ input: 'x', stream: true }));
    expect(events.map(({ type }) => type)).toContain('response.refusal.done');
    expect(events.at(-1)).toMatchObject({
      response: { status: 'completed', output: [{ content: [{ type: 'refusal', refusal: 'I will not.' }] }] },
    });
  });

  it('is told of as failed in the stream when it breaks off after the first piece, uncharged', async () => {
    const before = await served.services.store.checkLedger();
    upstream.script({ kind: 'broken', chat: shortChat, after: 1, ending: 'reset' });
    const answer = await post({ input: 'x', stream: true });
    expect(answer.status).toBe(200);
    const events = await readEvents(answer);
    const failed = { status: 'failed', error: { code: 'server_error' }, output: [], usage: null };
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: failed });
    expect(events.some(({ type }) => type === 'response.output_text.delta')).toBe(true);
    const id = answer.headers.get('x-response-id');
    expect(await (await served.call(`/v1/responses/${id}`, { apiKey: served.apiKey })).json()).toMatchObject(
      failed,
    );
    expect((await served.services.store.checkLedger()).entries).toBe(before.entries);
  });

  it.each<[string, StubBehaviour, number, string]>([
    ['its quota is gone', { kind: 'error', status: 401 }, 503, 'upstream_unavailable'],
    ['it says nothing in time', { kind: 'silence' }, 502, 'upstream_error'],
    [
      'its stream ends early',
      { kind: 'broken', chat: shortChat, after: 1, ending: 'end' },
      502,
      'upstream_error',
    ],
  ])('answers an error of our own when %s', async (_what, behaviour, status, code) => {
    upstream.script(behaviour);
    const answer = await post({ input: 'x' });
    expect([answer.status, await answer.json()]).toMatchObject([status, { error: { code } }]);
    expect(answer.headers.get('x-response-id')).toMatch(/^resp_/);
    expect(answer.headers.has('retry-after')).toBe(status === 503);
  });
});
