import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { connectAssistant } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
let assistant: Client;

beforeAll(async () => {
  gateway = await startTestGateway();
  assistant = await connectAssistant(gateway, gateway.apiKey);
});

afterAll(async () => {
  await assistant.close();
  await gateway.stop();
});

const tool = async (name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> => {
  const result = await assistant.callTool({ name, arguments: input });
  return result.structuredContent as Record<string, unknown>;
};

const rest = async (path: string, body?: object): Promise<Record<string, unknown>> =>
  (await (await gateway.call(path, body === undefined ? {} : { body })).json()) as Record<string, unknown>;

describe('the same call over MCP and over REST', () => {
  it('lists the same models', async () => {
    expect(await tool('list_models', {})).toEqual(await rest('/v1/models'));
  });

  it('reads the same balance from the same ledger, after money moved on either side', async () => {
    await rest('/v1/images/generations', { model: 'imagemodel-1.0', prompt: 'one' });
    await tool('create_image', { model: 'imagemodel-1.0', prompt: 'two' });
    const { caller: _caller, ...balance } = await tool('get_balance', {});
    const { webhook_secret: secret, ...overRest } = await rest('/v1/balance');
    expect(balance).toEqual(overRest);
    expect(balance).toEqual({ balance_usd: '24.92', currency: 'USD' });
    expect(secret).toMatch(/^whsec_/);
  });

  it('answers a question with the same message and usage', async () => {
    const request = {
      model: 'textmodel-3.1-pro',
      messages: [{ role: 'user', content: 'Same?' }],
      max_tokens: 100,
    };
    const overMcp = await tool('create_chat_completion', request);
    const overRest = await rest('/v1/chat/completions', request);
    expect(overMcp['choices']).toEqual(overRest['choices']);
    expect(overMcp['usage']).toEqual(overRest['usage']);
  });

  it('shares idempotency keys, of up to 255 characters', async () => {
    const key = 'k'.repeat(255);
    const request = { model: 'imagemodel-1.0', prompt: 'shared', custom_data: { order: 7 } };
    const overMcp = await tool('create_image', { ...request, idempotency_key: key });
    const response = await gateway.call('/v1/images/generations', {
      body: request,
      headers: { 'idempotency-key': key },
    });
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    const overRest = (await response.json()) as Record<string, unknown>;
    expect(overRest['id']).toBe(overMcp['id']);
    expect(overRest['custom_data']).toEqual({ order: 7 });
  });

  it('reads the same job', async () => {
    const queued = (await (
      await gateway.call('/v1/images/generations?async=true', {
        body: { model: 'imagemodel-1.0', prompt: 'later' },
      })
    ).json()) as { id: string; status: string };
    expect(queued.status).toBe('queued');
    const overMcp = await tool('get_job', { job_id: queued.id, wait_ms: 20_000 });
    expect(overMcp).toMatchObject({ status: 'done', data: [{ url: expect.stringContaining('/results/') }] });
    expect(await rest(`/v1/jobs/${queued.id}`)).toEqual(overMcp);
  });

  it.each([
    ['create_video', '/v1/videos', { ratio: '1:1', aspect_ratio: '16:9' }],
    ['create_video', '/v1/videos', { webhook_url: 'https://example.com' }],
    ['create_response', '/v1/responses', { store: true }],
    ['create_response', '/v1/responses', { parallel_tool_calls: 'no' }],
    ['create_chat_completion', '/v1/chat/completions', { n: 2 }],
    ['create_chat_completion', '/v1/chat/completions', { webhook_url: 'https://example.com' }],
    ['create_chat_completion', '/v1/chat/completions', { custom_data: {} }],
    ['create_chat_completion', '/v1/chat/completions', { functions: 'none' }],
    ['create_chat_completion', '/v1/chat/completions', { tool_choice: 'required' }],
    ['create_response', '/v1/responses', { tool_choice: 'required' }],
    ['create_image', '/v1/images/generations', { n: 2 }],
    ['create_image', '/v1/images/generations', { stream: true }],
    ['create_image', '/v1/images/generations', { ratio: '9:16' }],
    ['create_image', '/v1/images/generations', { promt: 'A quay' }],
    ['create_video', '/v1/videos', { seconds: 12 }],
    ['create_video', '/v1/videos', { aspect: '9:16' }],
    ['create_video', '/v1/videos', { Duration: 12 }],
  ])('refuses what %s refuses at %s: %j', async (name, path, changes) => {
    const input = {
      create_video: { model: 'videomodel-2.0', prompt: 'A harbour' },
      create_response: { model: 'textmodel-3.5-flash', input: 'Hello' },
      create_chat_completion: { messages: [{ role: 'user', content: 'Hello' }] },
      create_image: { model: 'imagemodel-1.0', prompt: 'A harbour' },
    }[name];
    const body = { ...input, ...changes };
    const { error } = await rest(path, body);
    expect(error).toMatchObject({ type: 'invalid_request_error', param: Object.keys(changes).at(-1) });
    expect((await tool(name, body))['error']).toEqual(error);
  });

  it.each([
    { webhook_url: 'http://localhost:3000/hook', async: true },
    { image: 'https://127.0.0.1:8443/a.png' },
  ])('names the setting that allows addresses of this machine: %j', async ({ async = false, ...input }) => {
    const body = { model: 'imagemodel-1.0', prompt: 'A harbour', ...input };
    const { error } = await rest(`/v1/images/generations?async=${async}`, body);
    expect(error).toMatchObject({
      code: 'invalid_parameter',
      message: expect.stringContaining('ALLOW_LOOPBACK_URLS=true'),
      param: Object.keys(input)[0],
    });
    expect((await tool('create_image', { ...body, async }))['error']).toEqual(error);
  });

  it('takes every field, also those that a tool does not list', async () => {
    const response = await tool('create_response', {
      model: 'textmodel-3.5-flash',
      input: 'Hello',
      metadata: { order: 'A-17' },
      parallel_tool_calls: false,
      stream: true,
    });
    expect(response).toMatchObject({
      status: 'completed',
      metadata: { order: 'A-17' },
      parallel_tool_calls: false,
    });
    const chat = await tool('create_chat_completion', {
      messages: [{ role: 'user', content: 'What is the weather in Oslo?' }],
      functions: [
        { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
      ],
      function_call: { name: 'weather' },
      stream: true,
    });
    expect(chat['choices']).toMatchObject([
      { finish_reason: 'function_call', message: { function_call: { name: 'weather' } } },
    ]);
    const body = { model: 'videomodel-2.0', prompt: '[sandbox:fail]', aspect_ratio: '1:1' };
    expect(await tool('create_video', body)).toMatchObject({ ratio: '1:1' });
  });

  it('refuses with the same error, which names a tool over MCP and an address over REST', async () => {
    const overMcp = await tool('create_image', { model: 'nope', prompt: 'x' });
    const overRest = await rest('/v1/images/generations', { model: 'nope', prompt: 'x' });
    expect(overRest).toMatchObject({ error: { message: expect.stringContaining('See GET /v1/models.') } });
    expect(overMcp).toEqual(JSON.parse(JSON.stringify(overRest).replace('GET /v1/models', 'list_models')));
  });
});

describe('a gateway that sells images only', () => {
  it('has and tells of the tools for images only', async () => {
    const own = await startTestGateway({
      yaml: `
models:
  draw-1: { kind: image, price: { unit: call, price_usd: "0.02" }, routes: [{ provider: sandbox }] }
`,
    });
    onTestFinished(() => own.stop());
    const withKey = await connectAssistant(own, own.apiKey);
    const names = (await withKey.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['create_image', 'get_job', 'list_models']));
    const absent = ['create_video', 'get_video', 'get_video_content', 'create_chat_completion'];
    expect(names.filter((name) => absent.includes(name))).toEqual([]);
    await expect(withKey.callTool({ name: 'create_video', arguments: {} })).rejects.toThrow('Unknown tool');
    await withKey.close();
    const withoutKey = await connectAssistant(own, null);
    expect(withoutKey.getInstructions()).toContain('create_image');
    for (const name of absent) expect(withoutKey.getInstructions()).not.toContain(name);
    await withoutKey.close();
  });
});

describe('a gateway that is stopping', () => {
  it('begins nothing that is paid for, over either transport, and still answers what is free', async () => {
    const own = await startTestGateway();
    onTestFinished(() => own.stop());
    const client = await connectAssistant(own, own.apiKey);
    onTestFinished(() => client.close());
    await own.services.drain();
    const body = { model: 'imagemodel-1.0', prompt: 'too late' };
    const overRest = await own.call('/v1/images/generations', { body });
    expect(overRest.status).toBe(503);
    expect(Number(overRest.headers.get('retry-after'))).toBeGreaterThan(0);
    const refused = { error: { type: 'server_error', code: 'shutting_down' } };
    expect(await overRest.json()).toMatchObject(refused);
    const overMcp = await client.callTool({ name: 'create_image', arguments: body });
    expect(overMcp.structuredContent).toMatchObject(refused);
    const jobs = await own.call('/v1/jobs');
    expect(await jobs.json()).toMatchObject({ data: [] });
    const balance = await client.callTool({ name: 'get_balance', arguments: {} });
    expect(balance.structuredContent).toMatchObject({ balance_usd: '25.00' });
  });
});

describe("another account's job", () => {
  it('is not there', async () => {
    const { store } = gateway.services;
    const { id } = (await rest('/v1/images/generations', { model: 'imagemodel-1.0', prompt: 'mine' })) as {
      id: string;
    };
    const other = await openAccount(gateway.services);
    expect((await gateway.call(`/v1/jobs/${id}`, { apiKey: other.apiKey })).status).toBe(404);
    expect((await gateway.call(`/v1/jobs/${id}`)).status).toBe(200);
    await store.revokeKey({ id: other.keyId, now: Date.now() });
    expect((await gateway.call('/v1/balance', { apiKey: other.apiKey })).status).toBe(401);
  });
});
