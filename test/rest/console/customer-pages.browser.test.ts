import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, whenSearchReady, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { useChromium } from '../../use-chromium.ts';
import { signInPage, watchPage } from './console-page.ts';

let gateway: TestGateway;
const visit = useChromium();

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { SEARCH_FROM_BALANCE: 'on' } });
  await whenSearchReady(gateway);
});
afterAll(() => gateway.stop());

const open = async (path: string) => {
  const page = await visit();
  const reports = await watchPage(page);
  await signInPage(page, `${gateway.url}/console${path}`, gateway.apiKey);
  return { page, reports };
};

describe('the console of a customer', () => {
  it('sends a test event, lists how it went, and sends it again', async () => {
    const { page, reports } = await open('/webhooks');
    await page.getByLabel('Address of the receiver').fill('http://shop.example');
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Address of the receiver').fill('https://shop.example/hooks');
    await page.getByRole('button', { name: 'Send a test event' }).click();
    const row = page.getByRole('row', { name: /webhook\.test.*https:\/\/shop\.example/ });
    await row.waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    const again = page.waitForResponse((answer) => answer.url().endsWith('/redeliver'));
    await row.getByRole('button', { name: /^Send webhook\.test/ }).click();
    expect((await again).status()).toBe(200);
    expect(reports).toEqual([]);
  });

  it('makes a new signing secret after a question, and shows it once', async () => {
    const { page } = await open('/webhooks');
    await page.getByRole('button', { name: 'Make a new secret' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make a new secret' }).click();
    await page.getByRole('status').waitFor();
    expect(await page.getByRole('status').textContent()).toMatch(/whsec_/);
    await page.reload();
    await page.getByRole('heading', { name: 'Signing secret' }).waitFor();
    expect(await page.getByText(/whsec_/).count()).toBe(0);
  });

  it('shows the statement of a month, which prints without the navigation and is saved as CSV', async () => {
    const { page, reports } = await open('/statement');
    const month = new Date().toISOString().slice(0, 7);
    await page.getByRole('row', { name: /topup.*\$25\.00/ }).waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe(`statement-${month}.csv`);
    expect(await readFile(await file.path(), 'utf8')).toContain('opening_balance');
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
    expect(await page.getByRole('button').count()).toBe(0);
    expect(await page.getByRole('table').isVisible()).toBe(true);
    await page.emulateMedia({ media: 'screen' });
    await page.getByLabel('Month (UTC)').fill('2026-01');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('Nothing changed the balance in this month.').waitFor();
    expect(new URL(page.url()).searchParams.get('month')).toBe('2026-01');
    expect(reports).toEqual([]);
  });

  it('follows a video to its film', async () => {
    const { page, reports } = await open('/playground?kind=video');
    await page.getByRole('button', { name: 'Make the video' }).click();
    await page.getByText(/^Cost: \$/).waitFor();
    const width = `document.querySelector('video').videoWidth`;
    await expect.poll(() => page.evaluate(width), { timeout: 20_000 }).toBeGreaterThan(0);
    expect(await page.locator('video').getAttribute('src')).toMatch(/^\/films\//);
    expect(reports).toEqual([]);
  });

  it('searches influencers from the balance, and shows the call as code', async () => {
    const { page } = await open('/playground?kind=search');
    await page.getByLabel('Most results').fill('2');
    await page.getByRole('button', { name: 'Search' }).last().click();
    await expect
      .poll(() => page.getByRole('table', { name: 'Influencers' }).getByRole('row').count())
      .toBe(3);
    await page.getByText('The same call in a program').click();
    expect(await page.getByLabel('curl').textContent()).toContain('/v1/search?query=coffee&limit=2');
    expect(await page.getByLabel('fetch').textContent()).toContain('CAUSEWAY_API_KEY');
  });
});
