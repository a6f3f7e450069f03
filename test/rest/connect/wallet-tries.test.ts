import { sha256 } from '../../../src/kit/ids.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAssistant, openBrowser } from './assistant.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ environment: { WALLET_ACCOUNTS: 'on' } });
});
afterAll(() => gateway.stop());

it('sign-ins of wallets on the page of a connection are counted with those over REST, by address', async () => {
  const { go, follow } = openBrowser();
  const { page } = await createAssistant(`${gateway.url}/mcp/account`).begin();
  const shown = (await follow(await go(page), gateway.url)) as Response;
  const wallet = JSON.stringify({ requestId: sha256(new URL(shown.url).pathname.split('/').at(-1) ?? '') });
  const tryWallet = async (): Promise<string> => {
    const body = new URLSearchParams({ answer: 'allow', scope: 'read', budget_day_usd: '5.00', wallet });
    return (await go(shown.url, { method: 'POST', body })).text();
  };
  expect(await tryWallet()).toContain('Sign');
  const limiter = gateway.services.addressLimiters.get('sign_in');
  for (let tries = 1; tries < 30; tries += 1) await limiter?.consume('127.0.0.1');
  expect(await tryWallet()).toContain('Too many sign-ins from this address');
  expect((await gateway.call('/v1/auth/wallet', { method: 'POST', apiKey: null })).status).toBe(429);
});
