import { createHash } from 'node:crypto';
import { UnauthorizedError } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { createAssistant, openBrowser } from './assistant.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const address = (): string => `${gateway.url}/mcp/account`;

interface Allowed {
  key?: string;
  budget?: string;
  total?: string;
  askAbove?: string;
  scopes?: readonly string[];
  answer?: string;
}

/** Opens the page of consent in a browser, and answers it. Returns where the browser is in the end. */
const allow = async (
  page: URL,
  {
    key = gateway.apiKey,
    budget = '5.00',
    total = '',
    askAbove = '',
    scopes = ['read', 'generate', 'search'],
    answer = 'allow',
  }: Allowed = {},
): Promise<URL | Response> => {
  const browser = openBrowser();
  const first = await browser.go(page);
  const entered = new URL(first.headers.get('location')!, gateway.url);
  const shown = await browser.go(entered);
  expect(shown.status).toBe(200);
  const body = new URLSearchParams([
    ['key', key],
    ['budget_day_usd', budget],
    ['budget_total_usd', total],
    ['ask_above_usd', askAbove],
    ['answer', answer],
    ...scopes.map((scope): [string, string] => ['scope', scope]),
  ]);
  return browser.follow(await browser.go(entered, { method: 'POST', body }), gateway.url);
};

const askToken = (fields: Record<string, string>): Promise<Response> =>
  fetch(`${gateway.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(fields) });

type Saved = Awaited<ReturnType<typeof connect>>['saved'];
const refresh = ({ tokens, client }: Saved, more: Record<string, string> = {}): Promise<Response> =>
  askToken({
    grant_type: 'refresh_token',
    refresh_token: tokens!.refresh_token!,
    client_id: client!.client_id,
    ...more,
  });

/** Calls a tool at the address of connections. */
const call = (apiKey: string, name: string, args: object = {}): Promise<Response> =>
  gateway.call('/mcp/account', {
    apiKey,
    body: { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: args } },
    headers: { accept: 'application/json, text/event-stream' },
  });

const listConnections = async () => {
  const listed = await gateway.call('/v1/connections');
  return ((await listed.json()) as { data: { id: string; key_id: string; revoked_at: string | null }[] })
    .data;
};

const connect = async (allowed: Allowed = {}) => {
  const assistant = createAssistant(address());
  const { page, finish } = await assistant.begin();
  const back = await allow(page, allowed);
  if (back instanceof Response) throw new Error(`${back.status} ${back.url} ${await back.text()}`);
  await finish(back);
  return assistant;
};

describe('an assistant that a person connects', () => {
  it('registers itself, is allowed on a page without script, and calls tools on the account of the person', async () => {
    const assistant = await connect();
    expect(assistant.saved.tokens).toMatchObject({ scope: 'read generate search', expires_in: 3_600 });
    expect(assistant.saved.tokens?.refresh_token).toEqual(expect.any(String));
    const client = await assistant.connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('create_image');
    const { structuredContent } = await client.callTool({ name: 'get_balance', arguments: {} });
    expect(structuredContent).toMatchObject({ balance_usd: '25.00' });
    await client.close();
  });

  it('may do only what the person allowed', async () => {
    const assistant = await connect({ scopes: ['read'] });
    const client = await assistant.connect();
    const input = { model: 'imagemodel-1.0', prompt: 'A cat' };
    const drawn = client.callTool({ name: 'create_image', arguments: input });
    // The stock client sends its person to sign in for more.
    await expect(drawn).rejects.toThrow(UnauthorizedError);
    expect(assistant.wentTo()?.searchParams.get('scope')).toMatch(/^(?=.*read)(?=.*generate)/);
    await client.close();
  });

  it.each([null, 'offline_access'])(
    'may do all that the person allowed where it asked for no scope of ours: %s',
    async (scope) => {
      const assistant = createAssistant(address());
      const { page, finish } = await assistant.begin();
      if (scope === null) page.searchParams.delete('scope');
      else page.searchParams.set('scope', scope);
      await finish((await allow(page, { scopes: ['read', 'search'] })) as URL);
      expect(assistant.saved.tokens?.scope?.split(' ')).toEqual(expect.arrayContaining(['read', 'search']));
      const client = await assistant.connect();
      expect(await client.callTool({ name: 'get_balance', arguments: {} })).not.toHaveProperty(
        'isError',
        true,
      );
      await client.close();
    },
  );

  it('is connected where it asks for all scopes that the metadata list, as Gemini CLI does', async () => {
    const metadata = await gateway.call('/.well-known/oauth-authorization-server/oauth', { apiKey: null });
    const { scopes_supported: listed } = (await metadata.json()) as { scopes_supported: string[] };
    expect(listed).toContain('openid');
    const redirect = 'http://localhost:41611/oauth/callback';
    const body = { redirect_uris: [redirect], scope: listed.join(' ') };
    const registered = await gateway.call('/oauth/register', { apiKey: null, body });
    const { client_id } = (await registered.json()) as { client_id: string };
    const verifier = 'v'.repeat(43);
    const page = new URL(`${gateway.url}/oauth/authorize`);
    page.search = new URLSearchParams({
      client_id,
      redirect_uri: redirect,
      response_type: 'code',
      scope: listed.join(' '),
      resource: address(),
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }).toString();
    const code = ((await allow(page, { scopes: ['read'] })) as URL).searchParams.get('code');
    const answer = await askToken({
      grant_type: 'authorization_code',
      code: code!,
      redirect_uri: redirect,
      client_id,
      code_verifier: verifier,
    });
    const tokens = await answer.json();
    expect(tokens).toMatchObject({ scope: 'read', refresh_token: expect.any(String) });
    expect(tokens).not.toHaveProperty('id_token');
  });

  it('spends at most what the person allowed for a day', async () => {
    const client = await (await connect({ budget: '0.000001' })).connect();
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThan(3);
    const models = await client.callTool({ name: 'list_models', arguments: {} });
    const image = (models.structuredContent as { data: { id: string; kind: string }[] }).data.find(
      ({ kind }) => kind === 'image',
    )!;
    const input = { model: image.id, prompt: 'A cat' };
    const refused = await client.callTool({ name: 'create_image', arguments: input });
    expect(JSON.stringify(refused)).toContain('insufficient_balance');
    await client.close();
  });

  it('is told where its person signs in by the answer to a tool call, too', async () => {
    const response = await call('unknown', 'get_balance');
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      id: 7,
      result: {
        isError: true,
        _meta: { 'mcp/www_authenticate': [response.headers.get('www-authenticate')] },
      },
    });
  });

  it('is told where its person signs in', async () => {
    const response = await gateway.call('/mcp/account', { apiKey: null, body: {} });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/mcp/account", ` +
        'scope="read generate search"',
    );
    const metadata = await gateway.call('/.well-known/oauth-protected-resource/mcp/account', {
      apiKey: null,
    });
    expect(await metadata.json()).toMatchObject({
      resource: address(),
      authorization_servers: [`${gateway.url}/oauth`],
    });
    expect((await gateway.call('/.well-known/oauth-authorization-server', { apiKey: null })).status).toBe(
      404,
    );
  });

  it('gets metadata that names the public address, whatever host a request names', async () => {
    const metadata = await gateway.call('/.well-known/oauth-authorization-server/oauth', {
      apiKey: null,
      headers: {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example',
      },
    });
    const text = await metadata.text();
    expect(text).not.toContain('evil.example');
    expect(JSON.parse(text)).toMatchObject({
      issuer: `${gateway.url}/oauth`,
      authorization_endpoint: `${gateway.url}/oauth/authorize`,
      token_endpoint: `${gateway.url}/oauth/token`,
      registration_endpoint: `${gateway.url}/oauth/register`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    });
  });

  it('is refused with a token that opens nothing but the address of connections', async () => {
    const { saved } = await connect();
    const token = saved.tokens!.access_token;
    const answer = await gateway.call('/v1/balance', { apiKey: token });
    expect(answer.status).toBe(401);
  });

  it('is refused on the page by a person, with a key that is none, and without anything allowed', async () => {
    const { page } = await createAssistant(address()).begin();
    const back = (await allow(page, { answer: 'refuse' })) as URL;
    expect(back.searchParams.get('error')).toBe('access_denied');
    for (const [allowed, text] of [
      [{ key: 'sk_causeway_wrong' }, 'There is no such key'],
      [{ budget: '-1' }, 'US dollars above zero'],
      [{ total: 'much' }, 'US dollars above zero'],
      [{ askAbove: '-1' }, 'above which you are asked'],
      [{ budget: ' ' }, 'Set a limit'],
      [{ scopes: [] }, 'Allow at least one'],
    ] as const) {
      const again = await createAssistant(address()).begin();
      const shown = (await allow(again.page, allowed)) as Response;
      expect(shown.status).toBe(400);
      expect(await shown.text()).toContain(text);
    }
  });

  it('stays connected when it refreshes twice at once with one token', async () => {
    const { saved } = await connect();
    const answers = await Promise.all([refresh(saved), refresh(saved)]);
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      const { access_token: token } = (await answer.json()) as { access_token: string };
      expect((await call(token, 'get_balance')).status).toBe(200);
    }
  });

  it('may with a token that it refreshed for fewer scopes only what these allow', async () => {
    const { saved } = await connect();
    const refreshed = await refresh(saved, { scope: 'read' });
    const { access_token: token, scope } = (await refreshed.json()) as Record<string, string>;
    expect(scope).toBe('read');
    expect((await call(token!, 'get_balance')).status).toBe(200);
    const refused = await call(token!, 'create_image', { prompt: 'A pier' });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('scope="read generate"');
    expect((await call(saved.tokens!.access_token, 'create_image', { prompt: 'A pier' })).status).toBe(200);
  });

  it('ends at once when the key that made it is revoked', async () => {
    const made = await gateway.call('/v1/keys', { body: { label: 'for assistants' } });
    const { key, id } = (await made.json()) as { key: string; id: string };
    const { saved } = await connect({ key });
    expect((await gateway.call(`/v1/keys/${id}`, { method: 'DELETE' })).status).toBe(200);
    const called = await gateway.call('/mcp/account', { apiKey: saved.tokens!.access_token, body: {} });
    expect(called.status).toBe(401);
    expect(called.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(await (await refresh(saved)).json()).toMatchObject({ error: 'invalid_grant' });
  });

  it('ends at once when the assistant gives its refresh token back, and a chat that runs is still answered', async () => {
    const { saved } = await connect();
    const { access_token: apiKey, refresh_token: token } = saved.tokens!;
    const messages = [{ role: 'user', content: '[sandbox:slow=2] Hello' }];
    const running = call(apiKey, 'create_chat_completion', {
      model: 'textmodel-3.5-flash',
      max_tokens: 50,
      messages,
    });
    const listed = async () => {
      const answer = await gateway.call('/v1/jobs?status=running');
      return ((await answer.json()) as { data: object[] }).data;
    };
    await vi.waitUntil(async () => (await listed()).length > 0, { timeout: 10_000 });
    const revoked = await fetch(`${gateway.url}/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token: token!, client_id: saved.client!.client_id }),
    });
    expect(revoked.status).toBe(200);
    expect((await call(apiKey, 'get_balance')).status).toBe(401);
    const answer = await running;
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('finish_reason')]);
  });

  it('is listed with what it may do and spent, and ends at once when its person ends it', async () => {
    const { saved } = await connect({
      scopes: ['read', 'generate'],
      budget: '2.50',
      total: '10',
      askAbove: '0.5',
    });
    const data = await listConnections();
    expect(data[0]).toMatchObject({
      client: 'Assistant',
      redirect: '127.0.0.1:9',
      scopes: ['read', 'generate'],
      budget_day_usd: '2.50',
      day_spent_usd: '0.00',
      budget_total_usd: '10.00',
      total_spent_usd: '0.00',
      total_held_usd: '0.00',
      ask_above_usd: '0.50',
      revoked_at: null,
    });
    const { id } = data[0]!;
    expect((await gateway.call(`/v1/connections/${id}`, { method: 'DELETE' })).status).toBe(200);
    const called = await gateway.call('/mcp/account', { apiKey: saved.tokens!.access_token, body: {} });
    expect(called.status).toBe(401);
    const later = await listConnections();
    expect(later.find((one) => one.id === id)?.revoked_at).toEqual(expect.any(String));
    expect((await gateway.call('/v1/connections/other', { method: 'DELETE' })).status).toBe(404);
  });

  it('spends at most what the person allowed in all, which its account can change', async () => {
    const { saved } = await connect({ budget: '', total: '0.05' });
    const draw = async (): Promise<string> => {
      const input = { model: 'imagemodel-1.0', prompt: 'A pier' };
      return (await call(saved.tokens!.access_token, 'create_image', input)).text();
    };
    expect(await draw()).toContain('done');
    expect(await draw()).toContain('budget_total_usd');
    const data = await listConnections();
    expect(data[0]).toMatchObject({ budget_day_usd: null, total_spent_usd: '0.04' });
    const path = `/v1/connections/${data[0]!.id}`;
    const refused = await gateway.call(path, { body: { budget_total_usd: null } });
    expect(refused.status).toBe(422);
    const changed = await gateway.call(path, { body: { budget_total_usd: '0.10' } });
    expect(await changed.json()).toMatchObject({ budget_total_usd: '0.10', total_spent_usd: '0.04' });
    expect(await draw()).toContain('done');
    await gateway.call(path, { method: 'DELETE' });
    expect((await gateway.call(path, { body: { budget_day_usd: '1' } })).status).toBe(404);
  });

  it('is listed only from its first token on', async () => {
    const made = await gateway.call('/v1/keys', { body: { label: 'for one assistant' } });
    const { key, id: keyId } = (await made.json()) as { key: string; id: string };
    const { page, finish } = await createAssistant(address()).begin();
    const back = (await allow(page, { key })) as URL;
    const list = async () => (await listConnections()).filter(({ key_id: maker }) => maker === keyId);
    expect(await list()).toEqual([]);
    await finish(back);
    expect(await list()).toHaveLength(1);
  });

  it('is not made for another assistant, whose page was opened later in the same browser', async () => {
    const browser = openBrowser();
    const pages: URL[] = [];
    for (const client_name of ['One', 'Other']) {
      const { page } = await createAssistant(address(), { client_name }).begin();
      const first = await browser.go(page);
      pages.push(new URL(first.headers.get('location')!, gateway.url));
    }
    const body = new URLSearchParams({
      key: gateway.apiKey,
      budget_day_usd: '5.00',
      answer: 'allow',
      scope: 'read',
    });
    const answers = await Promise.all(pages.map((page) => browser.go(page)));
    expect(answers.map(({ status }) => status)).toEqual([400, 200]);
    expect((await browser.go(pages[0]!, { method: 'POST', body })).status).toBe(400);
    const back = await browser.follow(await browser.go(pages[1]!, { method: 'POST', body }), gateway.url);
    expect((back as URL).searchParams.get('code')).not.toBeNull();
  });

  it('is not listed among the keys of its account', async () => {
    await connect();
    const { data } = (await (await gateway.call('/v1/keys')).json()) as { data: { display: string }[] };
    expect(data.map(({ display }) => display)).not.toContain('connection');
  });
});
