import { request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createMcpMount } from '../../src/mcp/mount-mcp.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { clientKinds } from './clients.ts';
import { createExampleOperations, secretOfTheUpstream } from './example-operations.ts';
import { serveMount } from './serve-mount.ts';
import { startGateway, type TestGateway } from './start-gateway.ts';

const { log, lines } = createRecordedLog();
const { operations, nextHanging } = createExampleOperations();
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({
    operations,
    log,
    env: {
      PUBLIC_URL: 'https://gateway.example',
      MAX_BODY_BYTES: '4096',
      ALLOWED_ORIGINS: 'tools.example',
    },
  });
});
afterAll(() => gateway.close());

const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

interface PostOptions {
  path?: string;
  headers?: Record<string, string>;
}

const post = (message: unknown, { path = '/mcp', headers = {} }: PostOptions = {}): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });

const withKey = () => ({ authorization: `Bearer ${gateway.apiKey}` });

/** The one message of a response that is an event stream or plain JSON. */
const messageOf = async (
  response: Response,
): Promise<{ result?: object; error?: { code: number; message: string } }> => {
  const text = await response.text();
  const data = text.split('\n').find((line) => line.startsWith('data: {'));
  return JSON.parse(data === undefined ? text : data.slice('data: '.length));
};

describe('the MCP mount', () => {
  it('leaves other paths alone', async () => {
    for (const path of ['/', '/mcp/', '/mcp/other', '/mcpx', '/MCP'])
      expect((await post(listTools, { path })).status).toBe(404);
  });

  it('answers POST only, and says so', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'HEAD']) {
      const response = await fetch(`${gateway.url}/mcp`, {
        method,
        headers: { accept: 'text/event-stream' },
      });
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'POST']);
    }
  });

  it('carries the request id that the server gave', async () => {
    expect((await post(listTools)).headers.get('x-request-id')).toMatch(/^req_\d+$/);
  });

  it('refuses a wrong key with 401 and the error envelope, before anything is read', async () => {
    const response = await post('not json at all', { headers: { authorization: 'Bearer sk_causeway_bad' } });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.json()).toEqual({
      error: {
        type: 'authentication_error',
        code: 'invalid_api_key',
        message: expect.stringContaining('Bearer'),
      },
    });
  });

  it('answers broken JSON with the parse error of JSON-RPC', async () => {
    const response = await post('{"jsonrpc":');
    expect(response.status).toBe(400);
    expect((await messageOf(response)).error?.code).toBe(-32_700);
  });

  it('answers 415 to another content type', async () => {
    expect((await post(listTools, { headers: { 'content-type': 'text/plain' } })).status).toBe(415);
  });

  it('answers 413 to a body above the limit, announced or not', async () => {
    const big = JSON.stringify({ ...listTools, params: { padding: 'x'.repeat(8192) } });
    expect((await post(big)).status).toBe(413);

    const chunked = httpRequest(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    });
    chunked.on('error', () => undefined);
    chunked.write(big.slice(0, 6000));
    const [status] = await once(chunked, 'response').then((responses) =>
      responses.map(({ statusCode }: { statusCode: number }) => statusCode),
    );
    chunked.destroy();
    expect(status).toBe(413);
  });

  it('cuts off a sender of next to nothing', async () => {
    const { services } = gateway;
    const options = { services, operations, sender: { periodMs: 100 } };
    const { url, close } = await serveMount(createMcpMount(options), services.store);
    onTestFinished(() => close());
    const body = httpRequest(`${url}/mcp`, {
      method: 'POST',
      headers: { ...withKey(), 'content-type': 'application/json', 'content-length': 4_000 },
    });
    const cut = once(body, 'close');
    body.on('error', () => undefined).write('{');
    const dripping = setInterval(() => body.write(' '), 10);
    onTestFinished(() => {
      clearInterval(dripping);
      body.destroy();
    });
    await expect(cut).rejects.toThrow(/socket hang up|ECONNRESET|EPIPE/);
  });

  it('says that a tool does not exist as an error of the protocol', async () => {
    const call = {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'no_such_tool', arguments: {} },
    };
    expect((await messageOf(await post(call, { headers: withKey() }))).error).toEqual({
      code: -32_602,
      message: 'Unknown tool: no_such_tool',
    });
    const elsewhere = { ...call, params: { name: 'echo', arguments: {} } };
    expect(
      (await messageOf(await post(elsewhere, { path: '/mcp/search', headers: withKey() }))).error?.code,
    ).toBe(-32_602);
  });

  it('answers each message of a batch, as the 2025-03-26 revision allows', async () => {
    const echo = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: `number ${id}` } },
    });
    const response = await post([echo(1), echo(2)], {
      headers: { ...withKey(), 'mcp-protocol-version': '2025-03-26' },
    });
    const text = await response.text();
    expect(text).toContain('number 1');
    expect(text).toContain('number 2');
  });
});

describe('requests of web pages', () => {
  const preflight = (origin: string): Promise<Response> =>
    fetch(`${gateway.url}/mcp`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    });

  it.each([
    'https://evil.example',
    'http://gateway.example.evil.example',
    'null',
    'https://evil.example:8402',
    '',
    'https://user@gateway.example',
    'https://user:secret@tools.example',
    'http://@localhost:6274',
  ])('are refused from %s', async (origin) => {
    const response = await post(listTools, { headers: { ...withKey(), origin } });
    expect(response.status).toBe(403);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect((await preflight(origin)).status).toBe(403);
  });

  it.each([
    'https://gateway.example',
    'https://tools.example',
    'http://localhost:6274',
    'http://127.0.0.1:9',
  ])('are served from %s, with what a browser needs to read the answer', async (origin) => {
    const response = await post(listTools, { headers: { ...withKey(), origin } });
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    const allowed = await preflight(origin);
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-headers')).toContain('authorization');
  });

  it('get the error envelope of a wrong key readable too', async () => {
    const headers = { origin: 'https://tools.example', authorization: 'Bearer sk_causeway_bad' };
    const response = await post(listTools, { headers });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([
      401,
      'https://tools.example',
    ]);
  });
});

describe.each(clientKinds)('$name', ({ connect }) => {
  it('reads a refusal with when to try again, and nothing of its cause', async () => {
    const client = await connect(`${gateway.url}/mcp`, gateway.apiKey);
    await client.listTools();
    const result = await client.callTool('refuse');
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toEqual({
      error: {
        type: 'server_error',
        code: 'upstream_unavailable',
        message: 'The model is busy. Try again.',
        retry_after_seconds: 7,
      },
    });
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(result.structuredContent);
    await client.close();
  });

  it('reads of a fault only that there was one, while the log has it all', async () => {
    const client = await connect(`${gateway.url}/mcp`, gateway.apiKey);
    const result = await client.callTool('explode');
    expect(result.isError).toBe(true);
    expect(result.structuredContent?.['error']).toMatchObject({ code: 'server_error' });
    expect(JSON.stringify(result)).not.toContain('sk-live');
    expect(JSON.stringify(result)).not.toContain('.ts:');
    const logged = lines
      .map((line) => JSON.stringify(line))
      .filter((line) => line.includes('"tool":"explode"'));
    expect(logged.join()).toContain(secretOfTheUpstream);
    await client.close();
  });

  it.each([
    ['refuse', 40, 'a tool call was put off'],
    ['owe', 40, 'a tool call was put off'],
    ['explode', 50, 'a tool call failed'],
  ])('calls %s, which is logged at level %i: %s', async (tool, level, msg) => {
    const before = lines.length;
    const client = await connect(`${gateway.url}/mcp`, gateway.apiKey);
    await client.callTool(tool);
    expect(lines.slice(before)).toContainEqual(expect.objectContaining({ level, msg, tool }));
    await client.close();
  });

  it('is told of progress, in order, when it asks', async () => {
    const client = await connect(`${gateway.url}/mcp`, gateway.apiKey);
    const heard: { progress: number; message?: string }[] = [];
    const result = await client.callTool('work', {}, { onprogress: (progress) => heard.push(progress) });
    expect(result.structuredContent).toEqual({ text: 'worked' });
    expect(heard.map(({ progress, message }) => [progress, message])).toEqual([
      [1, 'step 1'],
      [2, 'step 2'],
      [3, 'step 3'],
    ]);
    await client.close();
  });

  it('works without progress when it does not ask', async () => {
    const client = await connect(`${gateway.url}/mcp`, gateway.apiKey);
    expect((await client.callTool('work')).structuredContent).toEqual({ text: 'worked' });
    await client.close();
  });

  it('sees its wrong and its unknown arguments named', async () => {
    const client = await connect(`${gateway.url}/mcp`, gateway.apiKey);
    const wrong = await client.callTool('echo', { text: 5 });
    expect(wrong.structuredContent?.['error']).toMatchObject({ code: 'invalid_parameter', param: 'text' });
    const unknown = await client.callTool('echo', { txet: 'hello' });
    expect(unknown).toMatchObject({
      isError: true,
      structuredContent: {
        error: { code: 'invalid_parameter', message: 'txet: is not a field here; did you mean text?' },
      },
    });
    await client.close();
  });
});

describe('a client that goes away', () => {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const ways = [
    { revision: '2025-11-25', headers: {}, meta: {} },
    {
      revision: '2026-07-28',
      headers: { 'mcp-method': 'tools/call', 'mcp-name': 'hang' },
      meta: { _meta: envelope },
    },
  ];

  it.each(ways)('aborts its call on revision $revision', async ({ revision, headers, meta }) => {
    const began = nextHanging();
    const gone = new AbortController();
    const params = { name: 'hang', arguments: {}, ...meta };
    const call = fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      signal: gone.signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': revision,
        ...headers,
        ...withKey(),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params }),
    }).then((response) => response.text());
    call.catch(() => undefined);
    const signal = await began;
    expect(signal.aborted).toBe(false);
    const aborted = once(signal, 'abort');
    gone.abort();
    await aborted;
    expect(signal.aborted).toBe(true);
  });
});
