import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/kit/ids.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { connectAssistant } from '../../store/connect-assistant.ts';
import { useChromium } from '../../use-chromium.ts';
import { signInPage, watchPage } from './console-page.ts';

let gateway: TestGateway;
const visit = useChromium();

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { SEARCH_FROM_BALANCE: 'on', IMAGE_DEADLINE_MS: '1000' } });
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

  it('names an assistant by its host, and one without a host as a program', async () => {
    const { store } = gateway.services;
    const found = await store.findKey(sha256(gateway.apiKey));
    const accountId = found?.account.id ?? '';
    for (const label of ['assistant.example', 'Assistant'])
      await connectAssistant(store, { accountId, now: Date.now(), label });
    const { page, reports } = await open('/connections');
    await page.getByRole('row', { name: /^assistant\.example \(Assistant\)/ }).waitFor();
    await page.getByRole('row', { name: /^a program that calls itself Assistant/ }).waitFor();
    expect(reports).toEqual([]);
  });

  it('shows the button that ends a connection beside the longest name on a phone', async () => {
    const { apiKey, accountId } = await openAccount(gateway.services);
    await connectAssistant(gateway.services.store, { accountId, now: Date.now(), label: 'W'.repeat(100) });
    const page = await visit({ viewport: { width: 390, height: 844 } });
    await signInPage(page, `${gateway.url}/console/connections`, apiKey);
    const button = await page.getByRole('button', { name: /^End W/ }).boundingBox();
    expect((button?.x ?? Infinity) + (button?.width ?? 0)).toBeLessThan(390);
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

  it('is charged once for what is asked for again after a lost answer', async () => {
    const { apiKey, accountId } = await openAccount(gateway.services, { isSandbox: true });
    const page = await visit();
    for (const [kind, button, address, made] of [
      ['image', 'Make the image', '**/console/v1/images/generations', page.getByText(/^Cost: \$/)],
      ['video', 'Make the video', '**/console/v1/videos', page.getByText(/^Cost: \$/)],
      ['search', 'Search', '**/console/v1/search*', page.getByRole('table', { name: 'Influencers' })],
    ] as const) {
      if (kind === 'image') await signInPage(page, `${gateway.url}/console/playground?kind=${kind}`, apiKey);
      else await page.goto(`${gateway.url}/console/playground?kind=${kind}`);
      await page.route(
        address,
        async (route) => {
          await route.fetch();
          await route.abort();
        },
        { times: 1 },
      );
      const make = page.getByRole('button', { name: button, exact: true }).last();
      await make.click();
      await page.getByRole('alert').waitFor();
      await make.click();
      await made.waitFor();
    }
    const { jobs } = await gateway.services.store.searchJobs({ accountId, before: null, limit: 10 });
    expect(jobs.map(({ kind }) => kind).toSorted()).toEqual(['image', 'search', 'video']);
  });

  it('makes another image after one has failed', async () => {
    const { page } = await open('/playground?kind=image');
    await page.getByLabel('What the image shows').fill('[sandbox:fail]');
    const keys = new Set<string | undefined>();
    for (let call = 0; call < 2; call += 1) {
      const answered = page.waitForResponse('**/console/v1/images/generations');
      await page.getByRole('button', { name: 'Make the image' }).click();
      keys.add((await answered).request().headers()['idempotency-key']);
      await page.getByRole('alert').filter({ hasText: 'The model provider failed' }).waitFor();
      await page.getByText('Nothing was charged.').waitFor();
    }
    expect([keys.size, keys.has(undefined)]).toEqual([2, false]);
  });

  it('follows an image that takes longer than its call', async () => {
    const { page } = await open('/playground?kind=image');
    await page.getByLabel('What the image shows').fill('[sandbox:slow=2] A pier');
    await page.getByRole('button', { name: 'Make the image' }).click();
    await page.getByText('The image is being made').waitFor();
    await page.getByText('Cost: $0.04.').waitFor();
    expect(await page.getByRole('img', { name: 'Result 1' }).count()).toBe(1);
  });

  it('says why a video or a chat failed, and that nothing was charged', async () => {
    const { page } = await open('/playground?kind=video');
    const failure = page.getByRole('alert').filter({ hasText: 'The sandbox refused this prompt' });
    const uncharged = page.getByText('Nothing was charged.');
    await page.getByLabel('What the video shows').fill('[sandbox:moderated]');
    await page.getByRole('button', { name: 'Make the video' }).click();
    await failure.waitFor();
    await uncharged.waitFor();
    await page.getByRole('button', { name: 'Chat' }).click();
    await page.getByLabel('Your message').fill('[sandbox:moderated]');
    await page.getByRole('button', { name: 'Send' }).click();
    await failure.waitFor();
    await uncharged.waitFor();
    // It is no part of the conversation, and can be changed.
    expect(await page.getByLabel('Your message').inputValue()).toBe('[sandbox:moderated]');
    expect(await page.locator('.chat li').count()).toBe(0);
    await page.getByLabel('Your message').fill('Hello');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^Cost: \$0\.000/).waitFor();
    expect([await failure.count(), await uncharged.count()]).toEqual([0, 0]);
  });

  it('shows the days of an address with times', async () => {
    const { page } = await open('?from=2026-01-01T00:00:00Z&to=2026-01-31T12:00:00Z');
    await page.getByRole('img', { name: /^Spent by day from 2026-01-01 to 2026-01-31/ }).waitFor();
    expect(await page.getByLabel('From (UTC)').inputValue()).toBe('2026-01-01');
  });

  it('opens the stream of changes again after it was refused once', async () => {
    const page = await visit();
    await page.clock.install();
    await page.route('**/console/live', (route) => route.fulfill({ status: 503 }), { times: 1 });
    const refused = page.waitForResponse('**/console/live');
    await signInPage(page, `${gateway.url}/console`, gateway.apiKey);
    expect((await refused).status()).toBe(503);
    const opened = page.waitForResponse('**/console/live');
    await page.clock.fastForward(60_000);
    expect((await opened).status()).toBe(200);
  });

  it('says what is wrong in a search', async () => {
    const { page } = await open('/playground?kind=search');
    await page.getByLabel('Most results').fill('500');
    await page.locator('form').getByRole('button', { name: 'Search' }).click();
    expect(await page.getByRole('alert').textContent()).toBe('limit: must be at most 100');
  });

  it('says that a proxy refused a search in words of its own', async () => {
    const { page } = await open('/playground?kind=search');
    await page.route('**/v1/search?**', (route) =>
      route.fulfill({ status: 503, json: { detail: 'No upstream' } }),
    );
    await page.locator('form').getByRole('button', { name: 'Search' }).click();
    expect(await page.getByRole('alert').textContent()).toBe('The gateway answered 503. Try again.');
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
