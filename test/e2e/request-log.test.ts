import { connect } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const infoLevel = 30;
const accountId = '5a0db0e5-0000-4000-8000-000000000001';
const { log, lines } = createRecordedLog();
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ log });
});
beforeEach(() => {
  lines.length = 0;
});
afterAll(() => gateway.stop());

const requests = (): Record<string, unknown>[] =>
  (lines as Record<string, unknown>[]).filter(({ msg, level }) => msg === 'request' && level === infoLevel);

/** The lines of requests, when as many are there. */
const logged = async (count: number): Promise<Record<string, unknown>[]> => {
  await expect.poll(() => requests().length).toBe(count);
  return requests();
};

describe('a request in the log', () => {
  it('is one line with method, path, status, time, account and request id', async () => {
    const response = await gateway.call('/v1/balance');
    expect(await logged(1)).toMatchObject([
      {
        requestId: response.headers.get('x-request-id'),
        method: 'GET',
        path: '/v1/balance',
        status: 200,
        ms: expect.any(Number),
        account: accountId,
        msg: 'request',
      },
    ]);
  });

  it('names the MCP method and the tool', async () => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${gateway.apiKey}` } },
      }),
    );
    await client.callTool({ name: 'get_balance' });
    await expect.poll(requests).toContainEqual(
      expect.objectContaining({
        method: 'POST',
        path: '/mcp',
        status: 200,
        account: accountId,
        call: 'tools/call get_balance',
      }),
    );
    await client.close();
  });

  it('shows no key, query, body or name of a result, whatever the answer', async () => {
    const secret = 'secretsecret';
    await gateway.call(`/v1/search?query=${secret}&limit=20`, { apiKey: null });
    await gateway.call(`/v1/models/${gateway.apiKey}`);
    await gateway.call(`/results/${secret}.png`);
    await gateway.call(`//results/${secret}.png`);
    await gateway.call(`/%72esults/${secret}.png`);
    await gateway.call(`/RESULTS/${secret}.png`);
    await gateway.call(`/v1/jobs/Bearer%20${gateway.apiKey}`);
    await gateway.call(`/v1/jobs/${gateway.apiKey.replaceAll('_', '%5F')}`);
    await gateway.call('/v1/balance', { apiKey: `sk_causeway_${secret}` });
    await gateway.call('/v1/chat/completions', {
      body: { messages: [{ role: 'user', content: secret }], user: secret },
    });
    await gateway.call(`/mcp?key=${secret}`, { body: secret });
    expect((await logged(11)).map(({ path, status }) => [path, status])).toEqual([
      ['/v1/search', 402],
      ['/v1/models/sk_*', 404],
      ['/results/*', 404],
      ['/results/*', 404],
      ['/results/*', 404],
      ['/results/*', 404],
      ['/v1/jobs/Bearer%20sk_*', 404],
      ['/v1/jobs/sk_*', 404],
      ['/v1/balance', 401],
      ['/v1/chat/completions', 200],
      ['/mcp', 406],
    ]);
    expect(JSON.stringify(lines)).not.toContain(secret);
    expect(JSON.stringify(lines)).not.toContain(gateway.apiKey.slice(15));
  });

  it('says when the client went away before it got an answer', async () => {
    const { port } = new URL(gateway.url);
    const body = JSON.stringify({ messages: [{ role: 'user', content: '[sandbox:slow=2] hello' }] });
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.apiKey}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect
      .poll(async () => (await gateway.services.store.listAccounts({ limit: 1 }))[0]?.held)
      .toBeGreaterThan(0n);
    socket.destroy();
    expect(await logged(1)).toMatchObject([{ path: '/v1/chat/completions', status: null, isCutOff: true }]);
  });

  it('is told at debug for a health check', async () => {
    await gateway.call('/health/live');
    await expect.poll(() => JSON.stringify(lines)).toContain('/health/live');
    expect(requests()).toEqual([]);
  });
});
