import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openBrowser } from './assistant.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

type Saved = Partial<{
  client: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>;
  tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  verifier: string;
  wentTo: URL;
}>;

const redirectUrl = 'http://127.0.0.1:9/callback';

const createProvider = (saved: Saved): OAuthClientProvider => ({
  redirectUrl,
  clientMetadata: { client_name: 'First', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
  clientInformation: () => saved.client,
  saveClientInformation: (client) => void Object.assign(saved, { client }),
  tokens: () => saved.tokens,
  saveTokens: (tokens) => void Object.assign(saved, { tokens }),
  redirectToAuthorization: (wentTo) => void Object.assign(saved, { wentTo }),
  saveCodeVerifier: (verifier) => void Object.assign(saved, { verifier }),
  codeVerifier: () => saved.verifier ?? '',
});

describe('the stock client of the first SDK', () => {
  it('registers, is allowed by a person, reads, and refreshes a token that has ended', async () => {
    const saved: Saved = {};
    const open = () =>
      new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp/account`), {
        authProvider: createProvider(saved),
      });
    const readBalance = async (): Promise<unknown> => {
      const client = new Client({ name: 'first', version: '1' });
      await client.connect(open());
      const { structuredContent } = await client.callTool({ name: 'get_balance', arguments: {} });
      await client.close();
      return structuredContent;
    };

    const begun = open();
    await expect(new Client({ name: 'first', version: '1' }).connect(begun)).rejects.toThrow(
      UnauthorizedError,
    );
    const browser = openBrowser();
    const first = await browser.go(saved.wentTo!);
    const entered = new URL(first.headers.get('location')!, gateway.url);
    const body = new URLSearchParams([
      ['key', gateway.apiKey],
      ['budget_total_usd', '5.00'],
      ['answer', 'allow'],
      ['scope', 'read'],
    ]);
    const back = await browser.follow(await browser.go(entered, { method: 'POST', body }), gateway.url);
    if (back instanceof Response) throw new Error(await back.text());
    await begun.finishAuth(back.searchParams.get('code')!);
    expect(await readBalance()).toMatchObject({ balance_usd: '25.00' });

    const { tokens } = saved;
    saved.tokens = { ...tokens!, access_token: 'ended' };
    expect(await readBalance()).toMatchObject({ balance_usd: '25.00' });
    expect(saved.tokens.access_token).not.toBe('ended');
  });
});
