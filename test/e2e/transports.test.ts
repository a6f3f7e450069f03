import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
let assistant: Client;

beforeAll(async () => {
  gateway = await startTestGateway();
  assistant = new Client({ name: 'test-assistant', version: '1' });
  await assistant.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${gateway.apiKey}` } },
    }),
  );
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
    const balance = await tool('get_balance', {});
    expect(balance).toEqual(await rest('/v1/balance'));
    expect(balance['balance_usd']).toBe('24.92');
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

  it('shares idempotency keys', async () => {
    const request = { model: 'imagemodel-1.0', prompt: 'shared', custom_data: { order: 7 } };
    const overMcp = await tool('create_image', { ...request, idempotency_key: 'shared' });
    const response = await gateway.call('/v1/images/generations', {
      body: request,
      headers: { 'idempotency-key': 'shared' },
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

  it('refuses with the same error', async () => {
    const overMcp = await tool('create_image', { model: 'nope', prompt: 'x' });
    expect(overMcp).toEqual(await rest('/v1/images/generations', { model: 'nope', prompt: 'x' }));
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
