import { once } from 'node:events';
import { createServer } from 'node:http';
import { getBase58Decoder } from '@solana/kit';
import { generateKeyPairSync, sign } from 'node:crypto';
import type { Page } from 'playwright-core';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { listenOnLoopback, type Listening } from '../../mcp/listen-on-loopback.ts';
import { useChromium } from '../../use-chromium.ts';
import { createAssistant } from './assistant.ts';
import { giveWallet } from './give-wallet.ts';

let gateway: TestGateway;
const program = createServer((_request, response) => response.end('You can close this page.'));
let listening: Listening;
const visit = useChromium();
beforeAll(async () => {
  gateway = await startTestGateway({ environment: { WALLET_ACCOUNTS: 'on' } });
  listening = await listenOnLoopback(program);
});
afterAll(async () => {
  await listening.close();
  await gateway.stop();
});

const enter = async (page: Page) => {
  const redirectUrl = `${listening.url}/callback`;
  const assistant = createAssistant(`${gateway.url}/mcp/account`, { redirectUrl });
  const { page: address, finish } = await assistant.begin();
  await page.goto(address.href);
  return { ...assistant, finish };
};

const giveSolanaWallet = async (page: Page): Promise<string> => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const address = getBase58Decoder().decode(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
  await page.exposeFunction('askWallet', (bytes: number[]) => [
    ...sign(null, Buffer.from(bytes), privateKey),
  ]);
  await page.addInitScript(`window.solana = {
    connect: async () => ({ publicKey: { toString: () => '${address}' } }),
    signMessage: async (bytes) => ({ signature: new Uint8Array(await window.askWallet([...bytes])) }),
  };`);
  return address;
};

const allowWithWallet = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Allow with a wallet' }).click();

/** Presses the button, and connects the assistant with what its program gets. */
const connect = async (page: Page, { finish, connect: open }: Awaited<ReturnType<typeof enter>>) => {
  const arrived = once(program, 'request');
  await allowWithWallet(page);
  const [{ url }] = (await arrived) as [{ url: string }];
  await finish(new URL(url, listening.url));
  return open();
};

describe.each([390, 1_280])('the page with the button of a wallet, %d wide', (width) => {
  it.each(['light', 'dark'] as const)('has three buttons apart, in the %s theme', async (colorScheme) => {
    const page = await visit({ viewport: { width, height: 844 }, colorScheme });
    await enter(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    const boxes = await Promise.all(
      (await page.getByRole('button').all()).map((button) => button.boundingBox()),
    );
    expect(boxes).toHaveLength(3);
    for (const [index, box] of boxes.entries()) {
      const above = boxes[index - 1];
      expect(box?.height).toBeGreaterThanOrEqual(44);
      if (box && above) expect(box.y - above.y - above.height).toBeGreaterThanOrEqual(8);
    }
  });
});

describe('a person with a wallet', () => {
  it('allows an assistant to use the account of the wallet by one signature', async () => {
    const page = await visit();
    const texts = await giveWallet(page, privateKeyToAccount(generatePrivateKey()));
    const client = await connect(page, await enter(page));
    const { structuredContent } = await client.callTool({ name: 'get_balance', arguments: {} });
    expect(structuredContent).toMatchObject({ balance_usd: '0.00' });
    expect(texts).toEqual([
      expect.stringContaining(`Let an assistant that returns to ${new URL(listening.url).host} use`),
    ]);
    await client.close();
  });

  it('allows it by a wallet of Solana, too', async () => {
    const page = await visit();
    await giveSolanaWallet(page);
    const client = await connect(page, await enter(page));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('get_balance');
    await client.close();
  });

  it('ends the connection with the sign-in', async () => {
    const page = await visit();
    const account = privateKeyToAccount(generatePrivateKey());
    await giveWallet(page, account);
    const assistant = await enter(page);
    const client = await connect(page, assistant);
    await client.close();
    const { store } = gateway.services;
    const wallet = `eip155:${account.address.toLowerCase()}`;
    const owner = await store.findWalletAccount({ wallet, isSandbox: true });
    const page1 = { accountId: owner?.id ?? '', limit: 10, before: null, now: Date.now() };
    const [connection] = await store.listConnections(page1);
    await store.revokeKey({ id: connection?.parentId ?? '', now: Date.now() });
    const called = await gateway.call('/mcp/account', {
      apiKey: assistant.saved.tokens?.access_token ?? '',
      body: {},
    });
    expect(called.status).toBe(401);
  });

  it('is refused with a message that was signed for another request', async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    const first = await visit();
    await giveWallet(first, account);
    await enter(first);
    const prompts = await first.locator('#sign').getAttribute('data-prompts');
    const second = await visit();
    await giveWallet(second, account);
    await enter(second);
    await second.evaluate(`document.querySelector('#sign').dataset.prompts = ${JSON.stringify(prompts)}`);
    await second.evaluate('prompts.splice(0, prompts.length, ...JSON.parse(button.dataset.prompts))');
    await allowWithWallet(second);
    await second.waitForURL(/enter/);
    expect(await second.locator('[role=alert]:visible').textContent()).toContain('not of this request');
  });

  it('reads why nothing was signed, and can still use a key', async () => {
    const page = await visit();
    await enter(page);
    await allowWithWallet(page);
    expect(await page.getByRole('alert').textContent()).toContain('There is no wallet in this browser');
    const arrived = once(program, 'request');
    await page.getByLabel(/API key/).fill(gateway.apiKey);
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await arrived;
  });

  it('is protected from any other script on the page', async () => {
    const page = await visit();
    const refused = page.waitForEvent('console', (message) =>
      message.text().includes('Content Security Policy'),
    );
    await enter(page);
    await page.evaluate(
      "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.isOther = true' }))",
    );
    await refused;
    expect(await page.evaluate('window.isOther')).toBeUndefined();
  });
});
