import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { issueKey } from '../../../src/accounts/keys.ts';
import { credit } from '../../../src/accounts/ledger/entries.ts';
import { nanoPerUsd } from '../../../src/kit/money.ts';
import { noLimits } from '../../../src/rules/key-limits.ts';
import { isConsoleBuilt } from '../../../src/rest/console/console-files.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { callModern } from '../../mcp/call-modern.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { stripeKey, stripeWebhookSecret } from '../../payments/cards/stripe-stub.ts';
import { connectAssistant } from '../../store/connect-assistant.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const cent = nanoPerUsd / 100n;

interface Parts {
  /** An image costs four cents. */
  askAbove?: bigint | null;
  amount?: bigint;
  resource?: string;
}

/** Connects an assistant to a new account. */
const connect = async ({ askAbove = cent, amount = nanoPerUsd, resource = '/mcp/account' }: Parts = {}) => {
  const { services } = gateway;
  const { accountId, apiKey } = await openAccount(services, { amount });
  const scopes = ['read', 'generate', 'search'];
  const made = await connectAssistant(services.store, {
    accountId,
    now: Date.now(),
    askAbove,
    resource,
    scopes,
  });
  const balance = async () => (await services.store.getAccount(accountId))?.balance;
  return { ...made, accountId, apiKey, resource, balance };
};

type Connected = Awaited<ReturnType<typeof connect>>;
type Shown = { url: string; message: string };

/** The stock client. With `onPage` it declares elicitation by URL; the function does what its person does. */
const openClient = async (
  { token, resource }: Pick<Connected, 'token' | 'resource'>,
  onPage?: (shown: Shown) => Promise<'accept' | 'decline'>,
): Promise<Client> => {
  const client = new Client(
    { name: 'assistant', version: '1' },
    {
      capabilities: onPage === undefined ? {} : { elicitation: { url: {} } },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  if (onPage !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: await onPage(params as unknown as Shown),
    }));
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url + resource), { requestInit }));
  return client;
};

const picture = { model: 'imagemodel-1.0', prompt: 'A pier' };
const draw = async (client: Client, more: object = {}) => {
  const result = await client.callTool({ name: 'create_image', arguments: { ...picture, ...more } });
  return { text: JSON.stringify(result.content), ...result };
};

const linkIn = (text: string): string => /https?:\/\/\S+\/oauth\/calls\/\w+/.exec(text)?.[0] ?? '';

const send = (url: string, fields: Record<string, string>): Promise<Response> =>
  fetch(url, { method: 'POST', body: new URLSearchParams(fields) });

/** Signs in on the page. Returns what the page of the decision says, and the text that its form hands back. */
const signIn = async (url: string, key: string) => {
  const response = await send(url, { key, answer: 'allow' });
  const text = await response.text();
  return { status: response.status, text, token: /name="token" value="([^"]*)"/.exec(text)?.[1] ?? '' };
};

/** Does on a page what its person does: signs in, and presses the button. */
const decide = async (url: string, key: string, answer: 'allow' | 'refuse' = 'allow'): Promise<string> => {
  const { token } = await signIn(url, key);
  const response = await send(url, { token, answer });
  return response.text();
};

describe('a client that declares elicitation by URL', () => {
  it('shows the page of a dear call to its person, and makes the call once they confirmed it', async () => {
    const connected = await connect();
    const shown: Shown[] = [];
    const client = await openClient(connected, async (page) => {
      shown.push(page);
      expect(await connected.balance()).toBe(nanoPerUsd);
      expect(await decide(page.url, connected.apiKey)).toContain('The call is confirmed');
      return 'accept';
    });
    expect((await draw(client)).structuredContent).toMatchObject({ status: 'done' });
    expect(shown).toEqual([
      {
        mode: 'url',
        url: expect.stringContaining(`${gateway.url}/oauth/calls/`),
        message: expect.stringContaining('may cost up to $0.04'),
      },
    ]);
    expect(await connected.balance()).toBe(nanoPerUsd - 4n * cent);
    await client.close();
  });

  it.each(['accept', 'decline'] as const)(
    'is asked once, and reads a refusal when its person did nothing on the page (%s)',
    async (action) => {
      const connected = await connect();
      let times = 0;
      const client = await openClient(connected, async () => {
        times += 1;
        return action;
      });
      const { isError, structuredContent, text } = await draw(client);
      expect({ isError, times }).toEqual({ isError: true, times: 1 });
      expect(structuredContent).toMatchObject({ error: { code: 'confirmation_required' } });
      expect(linkIn(text)).not.toBe('');
      expect(await connected.balance()).toBe(nanoPerUsd);
      await client.close();
    },
  );

  it('is refused with a state that this service did not sign', async () => {
    const { token } = await connect();
    const ask = (more: object) =>
      callModern(gateway, {
        path: '/mcp/account',
        apiKey: token,
        name: 'create_image',
        input: picture,
        more,
      });
    const { result } = await ask({});
    const state = result?.requestState ?? '';
    // The library answers this one, as it has an unusual member.
    const byLibrary = (await ask({ inputResponses: {} })).result;
    expect(byLibrary).toEqual({ ...result, requestState: expect.any(String) });
    expect(await ask({ requestState: state })).toMatchObject({ result: { isError: true } });
    expect(await ask({ requestState: `${state.slice(0, -2)}AA` })).toMatchObject({ error: { code: -32602 } });
  });

  it('shows the page of a call that the balance does not cover, and makes it after money came', async () => {
    const connected = await connect({ amount: cent, askAbove: null });
    const { accountId } = connected;
    const client = await openClient(connected, async ({ url, message }) => {
      expect(message).toContain('does not cover');
      const { text } = await signIn(url, connected.apiKey);
      expect(text).toMatch(/\$0\.01[^]*Ask the operator/);
      expect(text).not.toContain('Confirm this one call');
      await credit(gateway.services, { accountId, amount: nanoPerUsd, reason: 'for tests' });
      return 'accept';
    });
    expect((await draw(client)).structuredContent).toMatchObject({ status: 'done' });
    await client.close();
  });
});

describe('a client that does not declare it', () => {
  it('reads the link, and makes the call once its person has confirmed it there', async () => {
    const connected = await connect();
    const client = await openClient(connected);
    const { isError, text, structuredContent } = await draw(client);
    expect(isError).toBe(true);
    expect(structuredContent).toMatchObject({ error: { code: 'confirmation_required' } });
    const url = linkIn(text);
    await decide(url, connected.apiKey);
    expect((await draw(client, { prompt: 'Another pier' })).text).toContain('confirmation_required');
    expect((await draw(client, { idempotency_key: 'one' })).structuredContent).toMatchObject({
      status: 'done',
    });
    // A repeat needs no confirmation, and another call of the same kind does.
    expect((await draw(client, { idempotency_key: 'one' })).structuredContent).toMatchObject({
      status: 'done',
    });
    expect(linkIn((await draw(client)).text)).not.toBe(url);
    expect(await connected.balance()).toBe(nanoPerUsd - 4n * cent);
    await client.close();
  });

  it('reads that its person declined the call, and is given no link for it', async () => {
    const connected = await connect();
    const client = await openClient(connected);
    const url = linkIn((await draw(client)).text);
    expect(await decide(url, connected.apiKey, 'refuse')).toContain('The call is declined');
    const { text } = await draw(client);
    expect(text).toContain('declined this call');
    expect(linkIn(text)).toBe('');
    await client.close();
  });

  it('is not asked for a call at the limit or below, nor without a limit', async () => {
    for (const askAbove of [4n * cent, null]) {
      const client = await openClient(await connect({ askAbove }));
      expect((await draw(client)).structuredContent).toMatchObject({ status: 'done' });
      await client.close();
    }
  });

  it('is asked by the limit that the account sets later', async () => {
    const connected = await connect({ askAbove: null });
    const path = `/v1/connections/${connected.connectionId}`;
    const changed = await gateway.call(path, { apiKey: connected.apiKey, body: { ask_above_usd: '0' } });
    expect(await changed.json()).toMatchObject({ ask_above_usd: '0.00', budget_day_usd: '5.00' });
    const client = await openClient(connected);
    expect((await draw(client)).text).toContain('confirmation_required');
    await client.close();
  });

  it('reads a link to add money with the refusal of a key, too, and none in a directory', async () => {
    const { apiKey } = await openAccount(gateway.services, { amount: cent });
    const client = await openClient({ token: apiKey, resource: '/mcp' });
    const { text, structuredContent } = await draw(client);
    expect(structuredContent).toMatchObject({ error: { code: 'insufficient_balance' } });
    expect(linkIn(text)).not.toBe('');
    await client.close();
    const answer = await gateway.call('/v1/images/generations', { apiKey, body: picture });
    expect(linkIn(await answer.text())).toBe('');
  });
});

describe('the page of a call', () => {
  const openPage = async () => {
    const connected = await connect();
    const client = await openClient(connected);
    const url = linkIn((await draw(client)).text);
    await client.close();
    const answerOf = async () =>
      (await gateway.services.store.getAskedCall({ id: url.split('/').at(-1)!, now: Date.now() }))?.answer;
    return { ...connected, url, answerOf };
  };

  it('confirms nothing by being opened or signed in to, and shows no prompt and no balance before', async () => {
    const { url, apiKey, answerOf } = await openPage();
    const page = await fetch(url);
    const text = await page.text();
    expect(text).toMatch(/assistant\.example[^]*Make an image[^]*imagemodel-1\.0[^]*\$0\.04/);
    expect(text).not.toContain('$1.00');
    const headers = Object.fromEntries(page.headers);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' });
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).not.toContain('script-src');
    const decision = await signIn(url, apiKey);
    expect(decision.text).toMatch(/\$1\.00[^]*\$0\.00 of \$5\.00/);
    expect(text + decision.text).not.toContain(picture.prompt);
    expect(await answerOf()).toBeNull();
  });

  it('refuses other accounts, wrong keys and tokens of connections', async () => {
    const { url, token, answerOf } = await openPage();
    const { apiKey } = await openAccount(gateway.services);
    expect(await signIn(url, apiKey)).toMatchObject({ status: 400, token: '' });
    expect(await signIn(url, 'sk_causeway_wrong')).toMatchObject({ status: 400, token: '' });
    expect(await signIn(url, token)).toMatchObject({ status: 400, token: '' });
    expect(await answerOf()).toBeNull();
  });

  const issue = async (accountId: string, limits = noLimits) => {
    const issued = await issueKey(gateway.services, { accountId, label: 'more', brand: 'causeway', limits });
    if (issued.outcome !== 'issued') throw new Error(issued.outcome);
    return issued;
  };

  it('is confirmed by no key with limits, which could not change the connection either', async () => {
    const { url, accountId, answerOf } = await openPage();
    const { key } = await issue(accountId, { ...noLimits, budgetDay: cent });
    expect(await signIn(url, key)).toMatchObject({ status: 400, token: '' });
    expect(await answerOf()).toBeNull();
  });

  it.each([
    ['was revoked', (id: string) => gateway.services.store.revokeKey({ id, now: Date.now() })],
    ['got limits', (id: string) => gateway.services.store.changeKey({ id, budgetDay: cent })],
  ])('is confirmed by no key that %s after it had signed in', async (_, change) => {
    const { url, accountId, answerOf } = await openPage();
    const { key, apiKey } = await issue(accountId);
    const { token } = await signIn(url, key);
    await change(apiKey.id);
    const answer = await send(url, { token, answer: 'allow' });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('has ended')]);
    expect(await answerOf()).toBeNull();
  });

  it('refuses a decision that comes from elsewhere, or from the page of another call', async () => {
    const { url, apiKey, answerOf } = await openPage();
    const other = await openPage();
    const foreign = await signIn(other.url, other.apiKey);
    const { token } = await signIn(url, apiKey);
    const [until, signer, signature] = token.split('.');
    const forged = [
      '',
      foreign.token,
      `${Number(until) + 1}.${signer}.${signature}`,
      `${until}..${signature}`,
      'é'.repeat(40),
    ];
    for (const sent of forged) expect((await send(url, { token: sent, answer: 'allow' })).status).toBe(400);
    expect(await answerOf()).toBeNull();
    await send(url, { token, answer: 'allow' });
    expect(await answerOf()).toBe('confirmed');
    await send(url, { token, answer: 'refuse' });
    expect(await answerOf()).toBe('confirmed');
  });

  it.runIf(isConsoleBuilt()).each([
    ['a wallet', { WALLET_ACCOUNTS: 'on' }, '/console/top-up'],
    [
      'a card',
      { STRIPE_SECRET_KEY: stripeKey, STRIPE_WEBHOOK_SECRET: stripeWebhookSecret },
      '/console/top-up',
    ],
    ['a wallet without the console', { WALLET_ACCOUNTS: 'on', CONSOLE: 'off' }, '/v1/topup'],
  ])('says where %s pays, and that the call is covered once money came', async (_, environment, place) => {
    const other = await startTestGateway({ environment });
    onTestFinished(() => other.stop());
    const { apiKey, accountId } = await openAccount(other.services, { amount: 0n, isSandbox: true });
    const answer = await other.call('/mcp', {
      apiKey,
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'create_image', arguments: picture },
      },
      headers: { accept: 'application/json, text/event-stream' },
    });
    const url = linkIn(await answer.text());
    expect((await signIn(url, apiKey)).text).toContain(other.url + place);
    await credit(other.services, { accountId, amount: nanoPerUsd, reason: 'for tests' });
    expect((await signIn(url, apiKey)).text).toContain('The balance covers this call.');
  });

  it('is none for an unknown call', async () => {
    const page = await fetch(`${gateway.url}/oauth/calls/unknown`);
    expect(page.status).toBe(404);
    expect(await page.text()).toContain('This request has ended');
  });
});
