import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { useChromium } from '../../use-chromium.ts';
import { issueOperator } from './console-client.ts';
import { signInPage } from './console-page.ts';

let gateway: TestGateway;
let customer: Awaited<ReturnType<typeof openAccount>>;
const visit = useChromium();

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { WALLET_ACCOUNTS: 'on', SEARCH_FROM_BALANCE: 'on' } });
  customer = await openAccount(gateway.services);
  const body = { model: 'imagemodel-1.0', prompt: 'A pier' };
  await gateway.call('/v1/images/generations', { apiKey: customer.apiKey, body });
});
afterAll(() => gateway.stop());

/** What differs from run to run. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'ID'],
  [/…[0-9a-zA-Z]{8}\b/g, '…ID'],
  [/sk_causeway_\w{4}…\w{4}/g, 'KEY'],
  [/\b[0-9a-f]{16}\b/g, 'GENERATION'],
  [/\b\d{1,3}(?:,\d{3})+\b/g, 'BYTES'],
  [/\b[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{2}:\d{2}:\d{2}/g, 'MOMENT'],
  [/\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z)?/g, 'DAY'],
  [/\d{4}-\d{2}\b/g, 'MONTH'],
  [/\b\d+(?:\.\d+)? m?s\b/g, 'TIME'],
  [/http:\/\/127\.0\.0\.1:\d+/g, 'GATEWAY'],
];

/** What a screen reader finds on pages, one after another. */
const outline = async (key: string, paths: readonly string[]): Promise<string> => {
  const page = await visit({ viewport: { width: 1_280, height: 800 }, locale: 'en-US', timezoneId: 'UTC' });
  await signInPage(page, `${gateway.url}/console${paths[0]}`, key);
  const outlines: string[] = [];
  for (const path of paths) {
    await page.goto(`${gateway.url}/console${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
    outlines.push(`# ${path}\n${await page.locator('#content').ariaSnapshot()}\n`);
  }
  return varying.reduce((text, [pattern, name]) => text.replace(pattern, name), outlines.join('\n'));
};

describe('what a screen reader finds on the pages', () => {
  it('of a customer', async () => {
    const paths = [
      '',
      '/playground',
      '/jobs',
      '/transactions',
      '/top-up',
      '/statement',
      '/purchases',
      '/keys',
    ];
    const text = await outline(customer.apiKey, [...paths, '/webhooks', '/connections']);
    await expect(text).toMatchFileSnapshot('./outlines/customer.txt');
  });

  it('of an operator', async () => {
    const { key } = await issueOperator(gateway.services);
    const account = `/operator/accounts/${customer.accountId}`;
    const names = ['jobs', 'payments', 'revenue', 'profiles', 'tools', 'changes', 'gateway'];
    const text = await outline(key, ['/operator', account, ...names.map((name) => `/operator/${name}`)]);
    await expect(text.replaceAll(customer.accountId, 'ID')).toMatchFileSnapshot('./outlines/operator.txt');
  });
});
