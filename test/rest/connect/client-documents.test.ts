import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthenticate } from '../../../src/accounts/authenticate.ts';
import { type Outbound, OutboundError } from '../../../src/http/outbound.ts';
import { createOAuthMount } from '../../../src/rest/connect/mount-oauth.ts';
import { toProviderPath } from '../../../src/rest/connect/provider-path.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { listenOnLoopback, type Listening } from '../../mcp/listen-on-loopback.ts';
import { openBrowser } from './assistant.ts';

/** Documents as the stock assistants publish them. */
const documents: Record<string, object> = {
  'https://claude.ai/oauth/claude-code-client-metadata': {
    client_name: 'Claude Code',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  'https://vscode.dev/oauth/client-metadata.json': {
    client_name: 'Visual Studio Code',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: ['https://vscode.dev/redirect', 'http://127.0.0.1/', 'http://localhost/'],
    token_endpoint_auth_method: 'none',
  },
  'https://vscode.dev/new/client-metadata.json': { redirect_uris: ['https://vscode.dev/redirect'] },
  'https://evil.example/client.json': { redirect_uris: ['javascript:alert(1)'] },
};

let gateway: TestGateway;
let server: Listening;
let asked: string[] = [];
let isDown = false;
/** What addresses answer in place of their documents. */
const answers = new Map<string, OutboundError | string>();
/** Until it resolves, the addresses of .slow.example do not answer. */
let held = Promise.resolve();

const outbound: Pick<Outbound, 'download'> = {
  download: async (url, { maxBytes, redirects }) => {
    asked.push(url);
    expect([maxBytes, redirects]).toEqual([5_000, 0]);
    if (url.includes('.slow.example')) await held;
    const document = documents[url];
    if (isDown || document === undefined) throw new OutboundError('unreachable', 'It does not answer.');
    const answer = answers.get(url) ?? JSON.stringify({ client_id: url, ...document });
    if (answer instanceof OutboundError) throw answer;
    return { contentType: 'application/json', body: Readable.from([Buffer.from(answer)]) };
  },
};

const serve = async (): Promise<Listening> => {
  const mount = createOAuthMount({
    ...gateway.services,
    outbound,
    publicUrl: () => server.url,
    authenticate: createAuthenticate(gateway.services),
  });
  return listenOnLoopback(
    createServer(
      (request, response) =>
        void mount(request, response, {
          path: toProviderPath(new URL(request.url ?? '/', 'http://x').pathname) ?? '',
          clientAddress: '127.0.0.1',
        }),
    ),
  );
};

beforeAll(async () => {
  gateway = await startTestGateway();
  server = await serve();
});
afterAll(async () => {
  await server.close();
  await gateway.stop();
});

const verifier = randomBytes(32).toString('base64url');

const authorize = (clientId: string, redirect: string): URL => {
  const page = new URL(`${server.url}/authorize`);
  page.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirect,
    response_type: 'code',
    scope: 'read generate',
    resource: `${server.url}/mcp/account`,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'abc',
  }).toString();
  return page;
};

const enter = async (page: URL) => {
  const browser = openBrowser();
  const first = await browser.go(page);
  const location = first.headers.get('location');
  if (location === null) return { status: first.status, text: await first.text(), allow: null };
  const entered = new URL(location, server.url);
  const shown = await browser.go(entered);
  const allow = async (): Promise<URL | Response> => {
    const body = new URLSearchParams({
      key: gateway.apiKey,
      budget_day_usd: '1',
      answer: 'allow',
      scope: 'read',
    });
    return browser.follow(await browser.go(entered, { method: 'POST', body }), server.url);
  };
  return {
    status: shown.status,
    text: await shown.text(),
    policy: shown.headers.get('content-security-policy'),
    allow,
  };
};

describe('an assistant that describes itself at an address', () => {
  it.each([
    [
      'https://claude.ai/oauth/claude-code-client-metadata',
      'http://localhost:51234/callback',
      'claude.ai',
      true,
    ],
    ['https://vscode.dev/oauth/client-metadata.json', 'http://127.0.0.1:33418/', 'vscode.dev', true],
    ['https://vscode.dev/oauth/client-metadata.json', 'https://vscode.dev/redirect', 'vscode.dev', false],
  ])('is shown by its host, and gets a token: %s to %s', async (clientId, redirect, host, isProgram) => {
    const page = await enter(authorize(clientId, redirect));
    expect(page.status).toBe(200);
    expect(page.text).toContain(`<bdi>${host}</bdi>`);
    expect(page.text.includes('a program on this computer')).toBe(isProgram);
    expect(page.policy).toContain("frame-ancestors 'none'");
    expect(page.policy).not.toContain('form-action');
    const back = (await page.allow!()) as URL;
    expect(back.href.startsWith(redirect)).toBe(true);
    expect(back.searchParams.get('iss')).toBe(`${server.url}/oauth`);
    const answer = await fetch(`${server.url}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: back.searchParams.get('code')!,
        redirect_uri: redirect,
        client_id: clientId,
        code_verifier: verifier,
      }),
    });
    const { access_token: token, scope } = (await answer.json()) as Record<string, string>;
    expect(scope).toBe('read');
    const called = await gateway.call('/mcp/account', {
      apiKey: token,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      headers: { accept: 'application/json, text/event-stream' },
    });
    expect(called.status).toBe(200);
  });

  it('is refused with a redirect that its document does not have, or that a browser would run', async () => {
    const other = await enter(
      authorize('https://vscode.dev/oauth/client-metadata.json', 'https://evil.example/callback'),
    );
    expect([other.status, other.text]).toEqual([400, expect.stringContaining('redirect_uri')]);
    const script = await enter(authorize('https://evil.example/client.json', 'javascript:alert(1)'));
    expect(script.status).toBe(400);
  });

  it('is not asked for again for a minute when its address answers nothing', async () => {
    asked = [];
    for (let turn = 0; turn < 3; turn += 1)
      expect(
        (await enter(authorize('https://gone.example/client.json', 'https://gone.example/'))).status,
      ).toBe(400);
    expect(asked).toEqual(['https://gone.example/client.json']);
  });

  it('is asked for later when too many others were asked for just now', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    let refused = 0;
    const others = Array.from({ length: 80 }, async (_, index) => {
      const host = `https://h${index}.slow.example`;
      await enter(authorize(`${host}/client.json`, `${host}/`));
      refused += 1;
    });
    // Eight are asked for, 64 wait.
    await expect.poll(() => refused, { timeout: 30_000 }).toBe(8);
    const page = authorize('https://vscode.dev/new/client-metadata.json', 'https://vscode.dev/redirect');
    expect((await enter(page)).status).toBe(400);
    resolve();
    await Promise.all(others);
    expect((await enter(page)).status).toBe(200);
  });

  it('is not asked for at a port of its own', async () => {
    asked = [];
    const page = await enter(
      authorize('https://assistant.example:8443/client.json', 'https://assistant.example/'),
    );
    expect([page.status, asked]).toEqual([400, []]);
  });

  it('connects after a restart while its address does not answer, if it was used before', async () => {
    const clientId = 'https://vscode.dev/oauth/client-metadata.json';
    await enter(authorize(clientId, 'https://vscode.dev/redirect'));
    isDown = true;
    await server.close();
    server = await serve();
    const page = await enter(authorize(clientId, 'https://vscode.dev/redirect'));
    isDown = false;
    expect(page.status).toBe(200);
  });

  it.each([
    ['is refused after it was withdrawn', 400, new OutboundError('bad_status', '', { status: 404 })],
    ['is refused after it was moved', 400, new OutboundError('too_many_redirects', '')],
    ['is refused after something else took its place', 400, '{"error":"maintenance"}'],
    ['is refused after it became unreadable', 400, '<html>'],
    ['connects while its host fails', 200, new OutboundError('bad_status', '', { status: 503 })],
    ['connects while its host refuses so many', 200, new OutboundError('bad_status', '', { status: 429 })],
  ])('%s, and its last good document stays for when nothing answers', async (name, status, answer) => {
    const clientId = `https://${name.replaceAll(' ', '-')}.example/client.json`;
    documents[clientId] = { redirect_uris: ['https://vscode.dev/redirect'] };
    /** A gateway that starts knows no document but those in the store. */
    const enterAnew = async (): Promise<number> => {
      await server.close();
      server = await serve();
      return (await enter(authorize(clientId, 'https://vscode.dev/redirect'))).status;
    };
    expect(await enterAnew()).toBe(200);
    answers.set(clientId, answer);
    expect(await enterAnew()).toBe(status);
    isDown = true;
    expect(await enterAnew().finally(() => (isDown = false))).toBe(200);
  });
});

describe('a client that registers', () => {
  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'blob:https://x/y'])(
    'is refused with the redirect %s',
    async (redirect) => {
      const response = await gateway.call('/register', { apiKey: null, body: { redirect_uris: [redirect] } });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: 'invalid_redirect_uri' });
    },
  );

  it('is refused with more redirects or more bytes than are kept, and is public whatever it leaves out', async () => {
    const register = (body: object) => gateway.call('/register', { apiKey: null, body });
    const redirect = 'http://127.0.0.1:9/callback';
    const many = await register({
      redirect_uris: Array.from({ length: 21 }, (_, port) => `${redirect}/${port}`),
    });
    expect([many.status, await many.json()]).toEqual([
      400,
      { error: 'invalid_redirect_uri', error_description: expect.stringContaining('20 entries') },
    ]);
    const long = await register({ redirect_uris: [redirect], client_name: 'x'.repeat(5_000) });
    expect([long.status, await long.json()]).toEqual([
      400,
      { error: 'invalid_client_metadata', error_description: expect.stringContaining('5000 bytes') },
    ]);
    const taken = await register({ redirect_uris: [redirect] });
    expect(taken.status).toBe(201);
    const client = await taken.json();
    expect(client).toMatchObject({ token_endpoint_auth_method: 'none' });
    for (const secret of ['client_secret', 'registration_access_token'])
      expect(client).not.toHaveProperty(secret);
  });

  it.each([
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'http://127.0.0.1:33418',
    'https://claude.ai/api/mcp/auth_callback',
  ])('is taken with the redirect %s', async (redirect) => {
    const response = await gateway.call('/register', { apiKey: null, body: { redirect_uris: [redirect] } });
    expect(response.status).toBe(201);
  });
});
