import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { sendModern } from '../../mcp/task-requester.ts';
import { connectAssistant } from '../../store/connect-assistant.ts';

let gateway: TestGateway;
let accountId: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ accountId } = await openAccount(gateway.services));
});
afterAll(() => gateway.stop());

const connect = async (scopes: string[]): Promise<string> => {
  const { token } = await connectAssistant(gateway.services.store, { accountId, now: Date.now(), scopes });
  return token;
};

const send = (
  apiKey: string,
  message: object,
  { headers = {}, pad = '' }: { headers?: Record<string, string>; pad?: string } = {},
): Promise<Response> =>
  gateway.call('/mcp/account', {
    apiKey,
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, ...message }) + pad,
    headers: { accept: 'application/json, text/event-stream', ...headers },
  });

const drawing = {
  method: 'tools/call',
  params: { name: 'create_image', arguments: { model: 'imagemodel-1.0', prompt: 'A pier' } },
};
const large = ' '.repeat(200_000);
const modern = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'create_image',
};
const withProgress = { ...drawing, params: { ...drawing.params, _meta: { progressToken: 1 } } };

/** Sends the head of a request, and its body once the gateway has seen the head. */
const sendSlowly = (apiKey: string, body: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const sending = httpRequest(`${gateway.url}/mcp/account`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        expect: '100-continue',
      },
    });
    sending.on('error', reject);
    sending.on('continue', () => sending.end(body));
    sending.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    });
    sending.flushHeaders();
  });

describe('a connection that lacks the scope of a tool', () => {
  it.each([
    ['that is answered directly', drawing, {}],
    ['of the revision 2026-07-28', drawing, { headers: modern }],
    ['with a progress token, which the library answers', withProgress, {}],
    ['that is large', drawing, { pad: large }],
  ])('gets 403 with the scopes to ask for, to a call %s', async (_, message, options) => {
    const answer = await send(await connect(['read']), message, options);
    expect(answer.status).toBe(403);
    const challenge = answer.headers.get('www-authenticate');
    expect(challenge).toBe(
      `Bearer resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/mcp/account", ` +
        'error="insufficient_scope", scope="read generate"',
    );
    expect(await answer.json()).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {
        content: [{ type: 'text', text: 'This connection may not "generate". Connect again, and allow it.' }],
        isError: true,
        _meta: { 'mcp/www_authenticate': [challenge] },
      },
    });
  });

  it('gets 403 when the body comes after the head, and in a batch of an old revision', async () => {
    const token = await connect(['read']);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'late', ...drawing });
    const late = await sendSlowly(token, body);
    expect(late).toMatchObject({ status: 403, text: expect.stringContaining('"id":"late"') });
    const batch = [{ jsonrpc: '2.0', id: 1, method: 'ping' }, JSON.parse(body)];
    const answer = await gateway.call('/mcp/account', { apiKey: token, body: batch });
    expect(answer.status).toBe(403);
  });

  it('makes nothing by a body that only the library can read', async () => {
    const body = `\uFEFF${JSON.stringify({ jsonrpc: '2.0', id: 7, ...drawing })}`;
    const answer = await gateway.call('/mcp/account', {
      apiKey: await connect(['read']),
      body,
      headers: { accept: 'application/json, text/event-stream' },
    });
    expect(await answer.text()).not.toContain('"status":"done"');
    const account = await gateway.services.store.getAccount(accountId);
    expect(account).toMatchObject({ balance: 10_000_000_000n, held: 0n });
  });

  it('gets and cancels tasks only as far as its scopes allow', async () => {
    const as = async (scopes: string[]) => {
      const apiKey = await connect(scopes);
      return (method: string, params: Record<string, unknown>, mark = '') =>
        sendModern({ url: `${gateway.url}/mcp/account`, apiKey }, { method, params, mark });
    };
    const film = {
      name: 'create_video',
      arguments: { model: 'videomodel-2.0', duration: 5, prompt: '[sandbox:stall] a cat' },
    };
    const full = await as(['read', 'generate']);
    const params = { taskId: (await full('tools/call', film)).result?.['taskId'] };
    expect((await full('tasks/get', params)).result).toMatchObject({ status: 'working' });
    const reader = await as(['read']);
    expect((await reader('tasks/get', params)).result).toMatchObject({ status: 'working' });
    const refused = { error: { message: expect.stringContaining('may not') } };
    expect(await reader('tasks/cancel', params)).toMatchObject(refused);
    expect(await reader('tasks/cancel', params, '\uFEFF')).toMatchObject(refused);
    const maker = await as(['generate']);
    expect(await maker('tasks/get', params)).toMatchObject(refused);
    expect((await maker('tools/call', film)).result).toMatchObject({ resultType: 'complete' });
    expect((await full('tasks/cancel', params)).result).toMatchObject({ resultType: 'complete' });
  });

  it('uses the tools that its scopes open, also by large calls', async () => {
    const token = await connect(['read']);
    const params = { name: 'get_balance', arguments: {} };
    for (const pad of ['', large]) {
      const answer = await send(token, { method: 'tools/call', params }, { pad });
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain('balance_usd');
    }
    const listed = await send(token, { method: 'tools/list' });
    expect(listed.status).toBe(200);
  });

  it('is refused a body that is larger than any', async () => {
    const token = await connect(['read']);
    const answer = await send(token, drawing, { pad: ' '.repeat(gateway.services.config.maxBodyBytes) });
    expect(answer.status).toBe(413);
  });

  it('reads no jobs as resources without "read", but what is open to strangers', async () => {
    const token = await connect(['generate', 'search']);
    const read = (uri: string) => send(token, { method: 'resources/read', params: { uri } });
    const refused = await read('causeway://jobs/none');
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      id: 7,
      error: { message: expect.stringContaining('"read"') },
    });
    for (const uri of ['causeway://search/facets', 'ui://gateway/leads'])
      expect((await read(uri)).status).toBe(200);
    const listed = await (await send(token, { method: 'resources/list' })).text();
    expect(listed).toContain('causeway://search/facets');
    expect(listed).not.toContain('causeway://models');
  });
});

describe('a token that is none', () => {
  const call = JSON.stringify({ jsonrpc: '2.0', id: 9, ...withProgress });

  it('gets 401 with the answer to a tool call, also when the call comes after the head', async () => {
    const late = await sendSlowly('unknown', call);
    expect(late.status).toBe(401);
    expect(JSON.parse(late.text)).toMatchObject({ id: 9, result: { isError: true } });
  });

  it('gets 401 with an error of the protocol to another message, and to a call above 64 KiB', async () => {
    const listed = await send('unknown', { method: 'tools/list' });
    expect(listed.status).toBe(401);
    expect(await listed.json()).toMatchObject({ id: 7, error: { code: -32_000 } });
    for (const body of [call + large, '{', '7'])
      expect(JSON.parse((await sendSlowly('unknown', body)).text)).toMatchObject({ id: null, error: {} });
  });
});
