import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { listenOnLoopback, type Listening } from '../../mcp/listen-on-loopback.ts';
import { useChromium } from '../../use-chromium.ts';
import { createAssistant } from './assistant.ts';
import { contrastOf } from './contrast-of.ts';

let gateway: TestGateway;
/** Listens where a program on this computer would. */
const program = createServer(({ url }, response) => {
  // Some programs show the end on a page elsewhere.
  const ends: Record<string, string> = {
    onward: `http://localhost:${new URL(listening.url).port}/end`,
    app: 'cursor://end',
  };
  const end = ends[url?.match(/\w+/)?.[0] ?? ''];
  if (end !== undefined) response.setHeader('location', end).statusCode = 302;
  response.end('You can close this page.');
});
let listening: Listening;
const visit = useChromium();
beforeAll(async () => {
  gateway = await startTestGateway();
  listening = await listenOnLoopback(program);
});
afterAll(async () => {
  await listening.close();
  await gateway.stop();
});

/** Goes to the page of consent as a person does whom an assistant sends there. */
const enter = async (page: Page, redirectUrl = `${listening.url}/callback`, more: object = {}) => {
  const assistant = createAssistant(`${gateway.url}/mcp/account`, { redirectUrl, ...more });
  const { page: address, finish } = await assistant.begin();
  await page.goto(address.href);
  return { ...assistant, finish };
};

const allow = async (page: Page, apiKey = gateway.apiKey): Promise<void> => {
  await page.getByLabel(/API key/).fill(apiKey);
  await page.getByRole('button', { name: 'Allow' }).click();
};

describe('the page of consent in a browser', () => {
  it('leads to a program on this computer, which gets a token', async () => {
    const page = await visit();
    const { finish, connect } = await enter(page);
    const arrived = once(program, 'request');
    await allow(page);
    const [{ url }] = (await arrived) as [{ url: string }];
    await finish(new URL(url, listening.url));
    const client = await connect();
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('get_balance');
    await client.close();
  });

  it('connects one account after the other in the same browser', async () => {
    const page = await visit();
    const { apiKey } = await openAccount(gateway.services);
    for (const key of [gateway.apiKey, apiKey]) {
      await enter(page);
      const arrived = once(program, 'request');
      await allow(page, key);
      const [{ url }] = (await arrived) as [{ url: string }];
      expect(new URL(url, listening.url).searchParams.get('code')).toEqual(expect.any(String));
    }
  });

  it('connects another account on a page that was opened while the last one was being connected', async () => {
    const page = await visit();
    const { apiKey } = await openAccount(gateway.services);
    await enter(page);
    const form = { key: gateway.apiKey, scope: 'read', budget_day_usd: '5.00', answer: 'allow' };
    const allowed = await page.request.post(page.url(), { form, maxRedirects: 0 });
    const tab = await page.context().newPage();
    await enter(tab);
    await page.goto(allowed.headers()['location'] ?? '');
    const arriving = tab.waitForRequest((request) => request.url().startsWith(`${listening.url}/callback`));
    await allow(tab, apiKey);
    expect(new URL((await arriving).url()).searchParams.get('code')).toEqual(expect.any(String));
  });

  it('leads on to where the program sends the browser in the end', async () => {
    const page = await visit();
    await enter(page, `${listening.url}/onward`);
    await allow(page);
    await page.waitForURL('http://localhost:*/end');
    expect(await page.textContent('body')).toBe('You can close this page.');
  });

  it('leads on to an app to which a web site sends the browser', async () => {
    const page = await visit();
    await enter(page, `${listening.url}/app`);
    const leaving = page.waitForRequest((request) => request.url().startsWith('cursor:'));
    await allow(page);
    expect((await leaving).url()).toBe('cursor://end');
  });

  it('leads to a program at an address of IPv6', async () => {
    const page = await visit();
    await enter(page, 'http://[::1]:9/callback');
    const leaving = page.waitForRequest((request) => request.url().startsWith('http://[::1]:9/callback'));
    await allow(page);
    expect(new URL((await leaving).url()).searchParams.get('code')).toEqual(expect.any(String));
  });

  it('leads to an app that has an address scheme of its own', async () => {
    const page = await visit();
    await enter(page, 'cursor://anysphere.cursor-mcp/oauth/callback');
    const leaving = page.waitForRequest((request) => request.url().startsWith('cursor:'));
    await allow(page);
    const { searchParams } = new URL((await leaving).url());
    expect(searchParams.get('code')).toEqual(expect.any(String));
    expect(searchParams.get('iss')).toBe(`${gateway.url}/oauth`);
  });

  it('works without script, and loads nothing from elsewhere', async () => {
    const page = await visit({ javaScriptEnabled: false });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).origin));
    await enter(page);
    expect(await page.locator('script').count()).toBe(0);
    expect(new Set(asked)).toEqual(new Set([gateway.url]));
    const arrived = once(program, 'request');
    await allow(page);
    await arrived;
  });

  it('says again what a person did not fill in, and keeps the request open, and what they allow', async () => {
    const page = await visit();
    await enter(page);
    await page.getByLabel(/make images/).uncheck();
    await page.getByLabel('In all').fill('1.50');
    await page.getByLabel(/API key/).fill('sk_causeway_wrong');
    await page.getByRole('button', { name: 'Allow' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('There is no such key');
    expect(await page.getByLabel(/make images/).isChecked()).toBe(false);
    expect(await page.getByLabel(/see your balance/).isChecked()).toBe(true);
    expect(await page.getByLabel('In all').inputValue()).toBe('1.50');
    expect(await page.getByLabel(/API key/).inputValue()).toBe('');
    const arrived = once(program, 'request');
    await allow(page);
    await arrived;
  });

  it('tells the assistant when a person refuses, who needs to fill in nothing', async () => {
    const page = await visit();
    await enter(page);
    const arrived = once(program, 'request');
    await page.getByRole('button', { name: 'Refuse' }).click();
    const [{ url }] = (await arrived) as [{ url: string }];
    expect(new URL(url, listening.url).searchParams.get('error')).toBe('access_denied');
  });
});

describe('a request that cannot be answered', () => {
  it('is a page with the reason, which leads nowhere', async () => {
    const page = await visit();
    const assistant = createAssistant(`${gateway.url}/mcp/account`);
    const { page: address } = await assistant.begin();
    address.searchParams.set('redirect_uri', 'https://evil.example/<b>');
    const answer = await page.goto(address.href);
    expect(answer?.status()).toBe(400);
    expect(answer?.headers()['content-security-policy']).toContain("default-src 'none'");
    expect(await page.getByRole('heading').textContent()).toBe('This request cannot be answered');
    expect(await page.getByText('The reason:').textContent()).toContain('redirect_uri');
    expect(await page.locator('a, form, script, b').count()).toBe(0);
  });
});

describe.each([
  { width: 320, height: 640 },
  { width: 1_280, height: 800 },
])('the page of consent at a width of $width', (viewport) => {
  it.each(['light', 'dark'] as const)('is readable in the %s theme', async (colorScheme) => {
    const page = await visit({ viewport, colorScheme });
    await enter(page, undefined, { client_name: 'W'.repeat(100) });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    expect(await contrastOf(page, 'h1', colorScheme)).toBeGreaterThan(4.5);
    expect(await contrastOf(page, 'label', colorScheme)).toBeGreaterThan(4.5);
    for (const button of await page.getByRole('button').all())
      expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  });

  it('shows where a person returns to larger than the name that the assistant gives itself', async () => {
    const page = await visit({ viewport });
    await enter(page);
    const size = async (text: string): Promise<number> => {
      const element = `[...document.querySelectorAll('bdi')].find(({ textContent }) => textContent === '${text}')`;
      return Number(await page.evaluate(`parseFloat(getComputedStyle(${element}).fontSize)`));
    };
    expect(await size(new URL(listening.url).host)).toBeGreaterThan(await size('Assistant'));
  });
});
