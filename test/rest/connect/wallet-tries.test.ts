import { sha256 } from '../../../src/kit/ids.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAccount } from '../../mcp/open-account.ts';
import { createAssistant, openBrowser } from './assistant.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ environment: { WALLET_ACCOUNTS: 'on' } });
});
afterAll(() => gateway.stop());

/** Opens the page of a connection. `allow` sends its form. */
const openPage = async () => {
  const { go, follow } = openBrowser();
  const { page } = await createAssistant(`${gateway.url}/mcp/account`).begin();
  const { url } = (await follow(await go(page), gateway.url)) as Response;
  const allow = (signIn: { wallet: string } | { key: string }): Promise<Response> => {
    const body = new URLSearchParams({ answer: 'allow', scope: 'read', budget_day_usd: '5.00', ...signIn });
    return go(url, { method: 'POST', body });
  };
  return { url, allow };
};

it('the connections of an account are counted, also those that come of one page', async () => {
  const { allow } = await openPage();
  for (let made = 0; made < 30; made += 1) expect((await allow({ key: gateway.apiKey })).status).toBe(303);
  const refused = await allow({ key: gateway.apiKey });
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining('too many connections'),
  ]);
  const { apiKey } = await openAccount(gateway.services);
  expect((await allow({ key: apiKey })).status).toBe(303);
});

it('sign-ins of wallets on the page of a connection are counted with those over REST, by address', async () => {
  const { url, allow } = await openPage();
  const wallet = JSON.stringify({ requestId: sha256(new URL(url).pathname.split('/').at(-1) ?? '') });
  const tryWallet = async (): Promise<string> => (await allow({ wallet })).text();
  expect(await tryWallet()).toContain('not of this request, or too old. Sign again.');
  const limiter = gateway.services.addressLimiters.get('sign_in');
  for (let tries = 1; tries < 30; tries += 1) await limiter?.consume('127.0.0.1');
  expect(await tryWallet()).toContain('Too many sign-ins from this address');
  expect((await gateway.call('/v1/auth/wallet', { method: 'POST', apiKey: null })).status).toBe(429);
});
