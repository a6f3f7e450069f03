import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listConnections } from '../../../src/operator/connections.ts';
import { runVerb } from '../../../src/operator/run-verb.ts';
import type { TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { acceptToolsOf } from '../../mounts/accept-tools.ts';
import { connectClient, namesOf } from '../../mounts/connect-client.ts';
import { hostileProgram } from '../../mounts/mount-yaml.ts';
import { startMountingGateway } from '../../mounts/start-mounting-gateway.ts';
import { connectAssistant } from '../../store/connect-assistant.ts';
import { createAssistant, openBrowser } from './assistant.ts';

let gateway: TestGateway;
beforeAll(async () => {
  const allow = ['count', 'echo'];
  const server = { args: [hostileProgram], allow, prices: { count: '0.30' } };
  gateway = await startMountingGateway({
    first: { ...server, account: true },
    second: { ...server, account: true },
    unaccepted: { ...server, account: true },
    elsewhere: server,
  });
  for (const name of ['first', 'second', 'elsewhere']) await acceptToolsOf(gateway.services, name);
});
afterAll(() => gateway.stop());

const address = (): string => `${gateway.url}/mcp/account`;

/** Opens the page of consent. Returns its text, and sends its form. */
const open = async (page: URL) => {
  const browser = openBrowser();
  const first = await browser.go(page);
  const entered = new URL(first.headers.get('location') ?? '', gateway.url);
  const text = await (await browser.go(entered)).text();
  const send = async (boxes: [string, string][], apiKey = gateway.apiKey): Promise<URL | Response> => {
    const body = new URLSearchParams([
      ['key', apiKey],
      ['budget_day_usd', '0.50'],
      ['budget_total_usd', ''],
      ['ask_above_usd', ''],
      ['answer', 'allow'],
      ...boxes,
    ]);
    return browser.follow(await browser.go(entered, { method: 'POST', body }), gateway.url);
  };
  return { text, send };
};

const serversOn = (text: string): (string | undefined)[] =>
  [...text.matchAll(/value="tools:([^"]*)"/g)].map(([, name]) => name);

const mountedIn = (names: string[]): string[] => names.filter((name) => name.includes('__'));

describe('an assistant that a person connects', () => {
  it('may use the servers that the person ticks, within the limits of the connection', async () => {
    const { apiKey, accountId } = await openAccount(gateway.services);
    const assistant = createAssistant(address());
    const { page, finish } = await assistant.begin();
    const { text, send } = await open(page);
    expect(serversOn(text)).toEqual(['first', 'second']);
    expect(text).not.toContain('value="tools"');
    // A label lays its parts out in a row: its text is one of them.
    expect(text).toMatch(/<span>\s*use the tools of <bdi>first<\/bdi>, made by others[^<]*<\/span>/);
    await finish(
      (await send(
        [
          ['scope', 'read'],
          ['scope', 'tools:first'],
          ['scope', 'tools:elsewhere'],
        ],
        apiKey,
      )) as URL,
    );
    expect(assistant.saved.tokens?.scope).toBe('read tools');
    const client = await assistant.connect();
    const names = await namesOf(client);
    expect(mountedIn(names)).toEqual(['first__count', 'first__echo']);
    expect(names).toContain('get_balance');
    const count = { name: 'first__count', arguments: {} };
    expect(await client.callTool(count)).toMatchObject({ _meta: { 'causeway/charge-usd': '0.30' } });
    expect(await client.callTool(count)).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'insufficient_balance', param: 'budget_day_usd' } },
    });
    for (const name of ['second__echo', 'elsewhere__echo', 'first__none'])
      expect(await client.callTool({ name, arguments: {} })).toMatchObject({
        isError: true,
        structuredContent: { error: { code: 'tool_not_found' } },
      });
    await client.close();

    const listed = await gateway.call('/v1/connections', { apiKey });
    expect(await listed.json()).toMatchObject({
      data: [{ scopes: ['read', 'tools'], servers: ['first'], day_spent_usd: '0.30' }],
    });
    const { store, clock, config } = gateway.services;
    const services = { store, clock, brand: config.brand, config: async () => config };
    const operator = { actor: 'cli:tests', actorLabel: null, role: 'read', requestId: null } as const;
    expect(
      await runVerb(listConnections, async () => ({ account_id: accountId }), operator, services),
    ).toMatchObject({ connections: [{ servers: ['first'] }] });
  });

  it('is offered what it asks for alone, and may ask for tools alone', async () => {
    const assistant = createAssistant(address());
    const { page, finish } = await assistant.begin();
    page.searchParams.set('scope', 'tools');
    const { text, send } = await open(page);
    expect(text.split('name="scope"')).toHaveLength(3);
    const none = await send([['scope', 'tools']]);
    expect([(none as Response).status, await (none as Response).text()]).toEqual([
      400,
      expect.stringContaining('Allow at least one'),
    ]);
    await finish((await send([['scope', 'tools:second']])) as URL);
    const client = await assistant.connect();
    expect(mountedIn(await namesOf(client))).toEqual(['second__count', 'second__echo']);
    await client.close();
    const reading = await createAssistant(address()).begin();
    reading.page.searchParams.set('scope', 'read');
    expect(serversOn((await open(reading.page)).text)).toEqual([]);
  });

  it('may ask for tools that came after it had registered', async () => {
    const assistant = createAssistant(address(), { scope: 'read generate' });
    const { page, finish } = await assistant.begin();
    page.searchParams.set('scope', 'generate tools');
    const { send } = await open(page);
    await finish(
      (await send([
        ['scope', 'generate'],
        ['scope', 'tools:first'],
      ])) as URL,
    );
    const client = await assistant.connect();
    expect(await client.callTool({ name: 'first__echo', arguments: {} })).not.toHaveProperty('isError');
    const picture = { model: 'imagemodel-1.0', prompt: 'A pier' };
    const drawn = await client.callTool({ name: 'create_image', arguments: picture });
    expect(drawn).toMatchObject({ structuredContent: { status: 'done' } });
    await client.close();
  });

  it('asks its person again where it lacks the scope', async () => {
    const assistant = createAssistant(address());
    const { page, finish } = await assistant.begin();
    await finish((await (await open(page)).send([['scope', 'read']])) as URL);
    const client = await assistant.connect();
    expect(mountedIn(await namesOf(client))).toEqual([]);
    await expect(client.callTool({ name: 'first__echo', arguments: {} })).rejects.toThrow(UnauthorizedError);
    expect(assistant.wentTo()?.searchParams.get('scope')).toMatch(/^(?=.*read)(?=.*tools)/);
    await client.close();
  });
});

interface Parts {
  isSandbox?: boolean;
  /** Who made the key of the connection. */
  madeBy?: string;
  scopes?: string[];
  askAbove?: bigint;
}

const connect = async ({ isSandbox = false, ...more }: Parts) => {
  const { accountId, apiKey } = await openAccount(gateway.services, { isSandbox });
  const made = await connectAssistant(gateway.services.store, {
    accountId,
    now: Date.now(),
    scopes: ['read', 'tools'],
    servers: ['first'],
    ...more,
  });
  return { ...made, accountId, apiKey };
};

describe('the scope "tools"', () => {
  it('is in the metadata and the challenge of /mcp/account, and nowhere else', async () => {
    const scopesOf = async (path: string) => {
      const metadata = await gateway.call(`/.well-known/oauth-protected-resource${path}`, { apiKey: null });
      const refused = await gateway.call(path, { apiKey: null, body: {} });
      const { scopes_supported: listed } = (await metadata.json()) as { scopes_supported: string[] };
      return [listed.includes('tools'), refused.headers.get('www-authenticate')?.endsWith(' tools"')];
    };
    expect(await scopesOf('/mcp/account')).toEqual([true, true]);
    expect(await scopesOf('/mcp/account/directory')).toEqual([false, false]);
  });

  it.each(['first__echo', 'call_tool', 'search_tools'])('is needed for %s: 403 without it', async (name) => {
    const { token } = await connect({ scopes: ['read', 'generate', 'search'] });
    const params = { name, arguments: {} };
    const answer = await gateway.call('/mcp/account', {
      apiKey: token,
      body: { jsonrpc: '2.0', id: 7, method: 'tools/call', params },
      headers: { accept: 'application/json, text/event-stream' },
    });
    expect(answer.status).toBe(403);
    expect(answer.headers.get('www-authenticate')).toContain(
      'error="insufficient_scope", scope="read generate search tools"',
    );
    expect(await answer.json()).toMatchObject({ result: { isError: true } });
  });

  it.each([
    ['wallet', { _meta: { 'causeway/charge-usd': '0.30' } }],
    ['operator', { isError: true, structuredContent: { error: { code: 'insufficient_balance' } } }],
  ])('spends test money that came from a wallet, and no other sandbox credit: %s', async (madeBy, answer) => {
    const { token } = await connect({ isSandbox: true, madeBy });
    const client = await connectClient(address(), token);
    expect(await client.callTool({ name: 'first__count', arguments: {} })).toMatchObject(answer);
  });

  it('opens no other scope', async () => {
    const { token } = await connect({ scopes: ['tools'] });
    const params = { name: 'get_balance', arguments: {} };
    const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
    expect((await gateway.call('/mcp/account', { apiKey: token, body })).status).toBe(403);
    expect((await gateway.call('/v1/tools', { apiKey: token })).status).toBe(401);
    expect((await gateway.call('/mcp/tools', { apiKey: token, body })).status).toBe(401);
  });
});

/** Confirms a call on its page, as the person does. Returns what the page shows before. */
const confirm = async (page: string, key: string): Promise<string> => {
  const send = async (fields: Record<string, string>): Promise<string> =>
    (await fetch(page, { method: 'POST', body: new URLSearchParams(fields) })).text();
  const shown = await send({ key, answer: 'allow' });
  await send({ token: /name="token" value="([^"]*)"/.exec(shown)?.[1] ?? '', answer: 'allow' });
  return shown;
};

describe('a call of a tool that may cost more than the connection may spend unasked', () => {
  const count = { name: 'first__count', arguments: {} };

  it('waits for the person, by whatever name it is called', async () => {
    const { token, accountId, apiKey } = await connect({ askAbove: 100_000_000n });
    const client = await connectClient(address(), token);
    const asked = await client.callTool(count);
    expect(asked).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'confirmation_required' } },
    });
    expect(await client.callTool({ name: 'first__echo', arguments: {} })).not.toHaveProperty('isError');
    const page = /https?:\/\/\S+\/oauth\/calls\/\w+/.exec(JSON.stringify(asked.content))?.[0] ?? '';
    expect(await confirm(page, apiKey)).toMatch(/<dt>Tool<\/dt>\s*<dd>first__count/);
    expect(await client.callTool({ name: 'call_tool', arguments: count })).not.toHaveProperty('isError');
    expect(await gateway.services.store.getAccount(accountId)).toMatchObject({ balance: 9_700_000_000n });
  });

  it('is shown to the person by a client that can open the page', async () => {
    const { token, accountId, apiKey } = await connect({ askAbove: 100_000_000n });
    const client = new Client(
      { name: 'assistant', version: '1' },
      { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      await confirm((params as unknown as { url: string }).url, apiKey);
      return { action: 'accept' };
    });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(address()), { requestInit }));
    expect(await client.callTool(count)).not.toHaveProperty('isError');
    expect(await gateway.services.store.getAccount(accountId)).toMatchObject({ balance: 9_700_000_000n });
    const listed = await client.listTools();
    expect(mountedIn(listed.tools.map(({ name }) => name))).toEqual(['first__count', 'first__echo']);
    await client.close();
  });
});
