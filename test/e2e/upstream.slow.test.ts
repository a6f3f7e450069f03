import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  shortChat,
  startStubUpstream,
  type StubBehaviour,
  type StubUpstream,
} from '../providers/stub-upstream.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let upstream: StubUpstream;
let gateway: TestGateway;
/** What the first start printed. */
let firstKey: string;

beforeEach(async () => {
  upstream = await startStubUpstream();
  gateway = await startTestGateway({
    environment: { UPSTREAM_KEY: 'upstream-secret' },
    yaml: `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}", api_key_env: UPSTREAM_KEY, first_byte_ms: 2000, idle_ms: 500 }
models:
  textmodel-3.5-flash:
    kind: chat
    price: { unit: token, input_usd_per_1m: "1.05", output_usd_per_1m: "6.30" }
    routes: [{ provider: up, model: upstream-name }]
`,
  });
  firstKey = gateway.apiKey;
  gateway.apiKey = (await openAccount(gateway.services)).apiKey;
});

afterEach(async () => {
  await gateway.stop();
  await upstream.close();
});

const ask = (more: object = {}): Promise<Response> =>
  gateway.call('/v1/chat/completions', {
    apiKey: gateway.apiKey,
    body: { messages: [{ role: 'user', content: 'Hello', name: 'Ada' }], ...more },
  });

const balance = async (): Promise<string> => {
  const response = await gateway.call('/v1/balance', { apiKey: gateway.apiKey });
  return ((await response.json()) as { balance_usd: string }).balance_usd;
};

const usage = { prompt_tokens: 1000, completion_tokens: 500 };

describe('a real upstream behind the gateway', () => {
  it('costs the operator money, so no account with credit is made by itself', () => {
    expect(firstKey).toBe('');
  });

  it('answers under the public SKU, and is charged by the usage it reports', async () => {
    upstream.script({ ...shortChat, usage });
    const completion = (await (await ask({ max_tokens: 1000 })).json()) as Record<string, unknown>;
    expect(completion).toMatchObject({ model: 'textmodel-3.5-flash', usage: { total_tokens: 1500 } });
    expect(completion).not.toHaveProperty('metadata');
    // 1000 * 1.05 + 500 * 6.30 per million.
    expect(await balance()).toBe('9.9958');
  });

  it('is never charged above the hold, whatever usage it reports', async () => {
    upstream.script({ ...shortChat, usage: { prompt_tokens: 5_000_000, completion_tokens: 5_000_000 } });
    await (await ask({ max_tokens: 100 })).text();
    const charged = 10 - Number(await balance());
    expect(charged).toBeGreaterThan(0.00063);
    expect(charged).toBeLessThan(0.00075);
  });

  it('sees the upstream name of the model and none of what is private', async () => {
    upstream.script(shortChat);
    const secret = {
      store: true,
      metadata: { a: 'b' },
      user: 'u-1',
      safety_identifier: 's',
      prompt_cache_key: 'p',
    };
    await (await ask({ ...secret, temperature: 0.5 })).text();
    const [request] = upstream.requests;
    expect(request?.body).toMatchObject({ model: 'upstream-name', temperature: 0.5, stream: true });
    expect(JSON.stringify(request?.body)).not.toMatch(/Ada|u-1|"store"|"metadata"|safety|prompt_cache_key/);
    expect(request?.headers.authorization).toBe('Bearer upstream-secret');
  });

  it('streams what the upstream streams', async () => {
    upstream.script({ ...shortChat, pieces: ['one ', 'two ', 'three'] });
    const text = await (await ask({ stream: true })).text();
    const pieces = [...text.matchAll(/"content":"([^"]+)"/g)].map(([, piece]) => piece);
    expect(pieces.join('')).toBe('one two three');
    expect(text).toContain('data: [DONE]');
  });

  it.each<[string, StubBehaviour, number, string]>([
    ['its quota is gone', { kind: 'error', status: 401 }, 503, 'upstream_unavailable'],
    ['it refuses the request', { kind: 'error', status: 400 }, 422, 'invalid_parameter'],
    ['it says nothing in time', { kind: 'silence' }, 502, 'upstream_error'],
    ['it hangs up', { kind: 'hang-up' }, 502, 'upstream_error'],
    [
      'its stream stalls',
      { kind: 'broken', chat: shortChat, after: 1, ending: 'stall' },
      502,
      'upstream_error',
    ],
    [
      'its stream ends early',
      { kind: 'broken', chat: shortChat, after: 1, ending: 'end' },
      502,
      'upstream_error',
    ],
    [
      'it answers garbage',
      { kind: 'raw', chunks: ['<html>oops secret-upstream-text'] },
      502,
      'upstream_error',
    ],
  ])('answers an error of our own and charges nothing when %s', async (_what, behaviour, status, code) => {
    upstream.setDefault(behaviour);
    const before = await balance();
    const response = await ask();
    const text = await response.text();
    expect([response.status, JSON.parse(text).error.code]).toEqual([status, code]);
    expect(text).not.toContain('secret-upstream-text');
    expect(await balance()).toBe(before);
  });

  it('ends a stream that breaks after it began with an error event and without [DONE], uncharged', async () => {
    const before = await balance();
    upstream.script({ kind: 'broken', chat: shortChat, after: 1, ending: 'reset' });
    const response = await ask({ stream: true });
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain('"error":{"type":"server_error","code":"upstream_error"');
    expect(text).not.toContain('[DONE]');
    expect(await balance()).toBe(before);
  });
});

describe('a gateway that sells no images', () => {
  it('offers an assistant no tool for them, and refuses them over REST', async () => {
    const client = new Client({ name: 'test-assistant', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${gateway.apiKey}` } },
      }),
    );
    const { tools } = await client.listTools();
    await client.close();
    expect(tools.map(({ name }) => name)).toContain('create_chat_completion');
    expect(tools.map(({ name }) => name)).not.toContain('create_image');
    const response = await gateway.call('/v1/images/generations', {
      apiKey: gateway.apiKey,
      body: { model: 'imagemodel-1.0', prompt: 'x' },
    });
    expect(await response.json()).toMatchObject({ error: { code: 'model_not_found' } });
  });
});
