import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, it, onTestFinished } from 'vitest';
import { createSecretVault } from '../../src/mounts/secret-vault.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { openAccount } from '../mcp/open-account.ts';
import { openBrowser } from '../rest/connect/assistant.ts';
import {
  allowAt,
  beginSignIn,
  secretsKey,
  signIn,
  startBoth,
  startListed,
  type Both,
} from './sign-in-gateways.ts';

const call = ({ gateway }: Both, apiKey = gateway.apiKey): Promise<Response> =>
  gateway.call('/v1/tools/notes/get_balance', { body: {}, apiKey });

const balanceIn = async (answer: Response): Promise<unknown> => {
  const result = (await answer.json()) as { structuredContent?: { balance_usd?: string } };
  return result.structuredContent?.balance_usd ?? result;
};

/** The text of a page, with the status of its answer. */
const read = async (answer: Response) => ({ status: answer.status, text: await answer.text() });

it('calls the tools of a server as the account that has signed in to it, and tells nobody the tokens', async () => {
  const { log, lines } = createRecordedLog();
  const both = await startListed(log);
  const { gateway, remote } = both;
  const refused = await call(both);
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({
    error: { message: expect.stringContaining(`sign in at ${gateway.url}/oauth/tools/notes first`) },
  });

  const { apiKey: second, accountId } = await openAccount(gateway.services);
  const { apiKey: remoteSecond } = await openAccount(remote.services);
  const done = await read(await signIn(both, { key: gateway.apiKey, remoteKey: remote.apiKey }));
  expect(done).toMatchObject({ status: 200, text: expect.stringContaining('You are signed in to notes') });
  await signIn(both, { key: second, remoteKey: remoteSecond });
  expect(await balanceIn(await call(both))).toBe('25.00');
  expect(await balanceIn(await call(both, second))).toBe('10.00');
  expect(await balanceIn(await call(both))).toBe('25.00');

  const vault = createSecretVault(gateway.services.store, [secretsKey]);
  const owner = { accountId, server: 'notes' };
  const [kept] = await vault.list(owner, ['sign-in']);
  const { oauth } = JSON.parse(vault.open(owner, kept!)) as { oauth: { tokens: Record<string, string> } };
  const shown = JSON.stringify(lines) + done.text + kept!.sealed;
  for (const name of ['access_token', 'refresh_token']) {
    expect(oauth.tokens[name]).toMatch(/^\S{20,}$/);
    expect(shown).not.toContain(oauth.tokens[name]);
  }
});

it('signs an account out, and tells a client of MCP where a person signs in', async () => {
  const both = await startListed();
  const { gateway, remote, listingKey } = both;
  expect((await call(both, listingKey)).status).toBe(200);
  const out = await gateway.call('/v1/tools/notes/sign-in', { method: 'DELETE', apiKey: listingKey });
  expect(await out.json()).toEqual({ server: 'notes', set: [], lacking: ['sign-in'] });
  expect((await call(both, listingKey)).status).toBe(403);
  const params = { name: 'notes__get_balance', arguments: {} };
  const answer = await fetch(`${gateway.url}/mcp/tools`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${listingKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  expect(await answer.text()).toContain(`Ask the person to open ${gateway.url}/oauth/tools/notes`);
  await signIn(both, { key: listingKey, remoteKey: remote.apiKey });
  expect((await call(both, listingKey)).status).toBe(200);
  const unknown = await gateway.call('/v1/tools/files/sign-in', { method: 'DELETE' });
  expect(unknown.status).toBe(404);
  const noName = await gateway.call('/v1/tools/%00/sign-in', { method: 'DELETE' });
  expect(noName.status).toBe(422);
  expect(await noName.json()).toMatchObject({ error: { message: 'server: must have no NUL' } });
});

it.each(['/mcp/tools', '/mcp/tools/notes'])(
  'shows the page to the person by a client that can open it: %s',
  async (path) => {
    const both = await startListed();
    const { gateway, remote } = both;
    const pages: unknown[] = [];
    const client = new Client(
      { name: 'assistant', version: '1' },
      { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      pages.push((params as unknown as { url: string }).url);
      // At first the person does nothing there.
      if (pages.length > 1) await signIn(both, { key: gateway.apiKey, remoteKey: remote.apiKey });
      return { action: 'accept' };
    });
    const requestInit = { headers: { authorization: `Bearer ${gateway.apiKey}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url + path), { requestInit }));
    onTestFinished(() => client.close());
    const ask = () => client.callTool({ name: 'notes__get_balance', arguments: {} });
    expect(await ask()).toMatchObject({ isError: true });
    expect(await ask()).not.toHaveProperty('isError');
    expect(pages).toEqual([`${gateway.url}/oauth/tools/notes`, `${gateway.url}/oauth/tools/notes`]);
  },
);

it('tells the authorization server that an account has signed out, also where its server is not mounted any more', async () => {
  const both = await startBoth();
  const { gateway, remote } = both;
  const { apiKey, accountId } = await openAccount(gateway.services);
  await signIn(both, { key: apiKey, remoteKey: remote.apiKey });
  const ends = async (): Promise<unknown[]> => {
    const listed = await remote.call('/v1/connections');
    return ((await listed.json()) as { data: { revoked_at: unknown }[] }).data.map((one) => one.revoked_at);
  };
  expect(await ends()).toEqual([null]);
  const signOut = (server: string) =>
    gateway.call(`/v1/tools/${server}/sign-in`, { method: 'DELETE', apiKey });
  expect((await signOut('notes')).status).toBe(200);
  expect(await ends()).toEqual([expect.any(String)]);
  const vault = createSecretVault(gateway.services.store, [secretsKey]);
  await vault.set({ accountId, server: 'gone', name: 'sign-in' }, '{}');
  expect(await (await signOut('gone')).json()).toEqual({ server: 'gone', set: [], lacking: [] });
  expect((await signOut('gone')).status).toBe(404);
  expect(await gateway.services.store.listToolSecrets({ accountId, server: 'gone' })).toEqual([]);
});

it('does not finish a sign-in whose key has ended meanwhile', async () => {
  const both = await startBoth();
  const { gateway, remote } = both;
  const { apiKey, accountId } = await openAccount(gateway.services);
  const browser = openBrowser();
  const person = { key: apiKey, remoteKey: remote.apiKey, browser };
  const { next } = await beginSignIn(gateway, person);
  const back = await allowAt(remote, person, next);
  const { store, clock } = gateway.services;
  await store.setAccountStatus({ id: accountId, status: 'suspended', now: clock.now() });
  expect(await read(await browser.go(back))).toMatchObject({
    status: 400,
    text: expect.stringContaining('The key has ended'),
  });
  expect(await store.listToolSecrets({ accountId, server: 'notes' })).toEqual([]);
});

it('serves an account that has signed in anew at once, however long its server was away', async () => {
  const both = await startListed();
  const { gateway, remote } = both;
  const { apiKey, accountId } = await openAccount(gateway.services);
  await signIn(both, { key: apiKey, remoteKey: remote.apiKey });
  expect((await call(both, apiKey)).status).toBe(200);
  const listed = await remote.call('/v1/connections');
  const { data } = (await listed.json()) as { data: { id: string }[] };
  for (const { id } of data) await remote.call(`/v1/connections/${id}`, { method: 'DELETE' });
  await call(both, apiKey);
  const restMs = () => gateway.services.mounts.restMs({ accountId, server: 'notes' }) ?? 0;
  await expect.poll(restMs, { timeout: 60_000 }).toBeGreaterThan(6_000);
  await signIn(both, { key: apiKey, remoteKey: remote.apiKey });
  expect((await call(both, apiKey)).status).toBe(200);
});

it('asks for another sign-in when the authorization server has ended the grant', async () => {
  const { log, lines } = createRecordedLog();
  const both = await startListed(log);
  const { gateway, remote } = both;
  await signIn(both, { key: gateway.apiKey, remoteKey: remote.apiKey });
  expect((await call(both)).status).toBe(200);
  const listed = await remote.call('/v1/connections');
  const { data } = (await listed.json()) as { data: { id: string }[] };
  for (const { id } of data) await remote.call(`/v1/connections/${id}`, { method: 'DELETE' });
  const refused = await call(both);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('x-causeway-charge-usd')).toBe('0.00');
  expect(await refused.json()).toMatchObject({
    error: { message: expect.stringContaining('or your sign-in') },
  });
  expect((await call(both)).status).toBe(403);
  expect(lines).toContainEqual(expect.objectContaining({ isOver: true, server: 'notes' }));
});

it('lets nobody set the tokens as a secret', async () => {
  const { gateway } = await startBoth();
  const body = { secrets: { 'sign-in': '{}' } };
  const answer = await gateway.call('/v1/tools/notes/secrets', { method: 'PUT', body });
  expect(answer.status).toBe(400);
});

it('takes what comes back once, in the browser that began, and for the server that it was begun for', async () => {
  const both = await startBoth();
  const { gateway, remote } = both;
  const browser = openBrowser();
  const person = { key: gateway.apiKey, remoteKey: remote.apiKey, browser };
  const { page, next } = await beginSignIn(gateway, person);
  expect(page).toContain(`Sign in at ${new URL(remote.url).host}`);
  const back = await allowAt(remote, person, next);
  const refused = { status: 400, text: expect.stringContaining('You are not signed in to') };
  expect(await read(await openBrowser().go(back))).toMatchObject(refused);
  const otherServer = new URL(String(back).replace('/tools/notes/', '/tools/other/'));
  expect(await read(await browser.go(otherServer))).toMatchObject(refused);
  const otherState = new URL(back);
  otherState.searchParams.set('state', 'another');
  expect(await read(await browser.go(otherState))).toMatchObject(refused);
  expect((await browser.go(back)).status).toBe(200);
  expect(await read(await browser.go(back))).toMatchObject(refused);
});

it('refuses an answer that is not of the authorization server, and one that refuses', async () => {
  const { gateway, remote } = await startBoth();
  const browser = openBrowser();
  const person = { key: gateway.apiKey, remoteKey: remote.apiKey, browser };
  for (const [name, value] of [
    ['iss', 'https://attacker.example.com'],
    ['iss', null],
    ['code', null],
  ] as const) {
    const { next } = await beginSignIn(gateway, person);
    const back = await allowAt(remote, person, next);
    if (value === null) back.searchParams.delete(name);
    else back.searchParams.set(name, value);
    const answer = await read(await browser.go(back));
    expect({ name, ...answer }).toMatchObject({
      name,
      status: 400,
      text: expect.stringContaining('did not allow it'),
    });
  }
});

it('signs in with a key without limits alone, on its own page', async () => {
  const { gateway } = await startBoth();
  const made = await gateway.call('/v1/keys', { body: { label: 'small', budget_day_usd: '1.00' } });
  const { key } = (await made.json()) as { key: string };
  for (const [sent, expected] of [
    [key, 'Use a key without limits.'],
    ['sk_causeway_none', 'There is no such key'],
  ] as const) {
    const { page, next } = await beginSignIn(gateway, { key: sent });
    expect(page).toContain(expected);
    expect(next).toBeNull();
  }
  const crossSite = await fetch(`${gateway.url}/oauth/tools/notes`, {
    method: 'POST',
    headers: { 'sec-fetch-site': 'cross-site' },
    body: new URLSearchParams({ key: gateway.apiKey }),
  });
  expect(await read(crossSite)).toMatchObject({ status: 400, text: expect.stringContaining('Another site') });
  expect(crossSite.headers.get('set-cookie')).toBeNull();
  expect((await fetch(`${gateway.url}/oauth/tools/files`)).status).toBe(404);
  // The name of a server is no path of another one.
  expect((await beginSignIn(gateway, { key: gateway.apiKey }, 'callback')).next).not.toBeNull();
});
