import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { useChromium } from '../../use-chromium.ts';

let gateway: TestGateway;
const visit = useChromium();
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const phone = { width: 390, height: 844 };
const desk = { width: 1280, height: 844 };

const open = async (path: string, options: Parameters<typeof visit>[0] = {}): Promise<Page> => {
  const page = await visit(options);
  await page.goto(`${gateway.url}${path}`);
  return page;
};

const heads = (page: Page) => page.locator('main details:visible > summary');

describe('the pages for people', () => {
  it.each(['/', '/docs'])('%s is as wide as a phone, and shows its title at once', async (path) => {
    const page = await open(path, { viewport: phone });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    const title = await page.getByRole('heading', { level: 1 }).boundingBox();
    expect(title?.y).toBeLessThan(phone.height / 3);
  });

  it.each(['/', '/docs', '/mcp/account', '/v1/search'])(
    '%s leads to nothing by its path from the root, as a proxy may put another one before it',
    async (path) => {
      const page = await open(path);
      const links = await page
        .locator('[href], [src]')
        .evaluateAll((elements) =>
          elements.map((element) => element.getAttribute('href') ?? element.getAttribute('src')),
        );
      expect(links).toContainEqual(expect.stringMatching(/style\.css$/));
      expect(links.filter((link) => link?.startsWith('/'))).toEqual([]);
    },
  );

  it('/docs shows its contents beside the text on a wide screen, and opens them on a phone', async () => {
    const wide = await open('/docs', { viewport: desk });
    await expect.poll(() => wide.locator('nav').getByText('Make an image').isVisible()).toBe(true);
    const narrow = await open('/docs', { viewport: phone });
    const link = narrow.locator('nav').getByText('Make an image');
    expect(await link.isVisible()).toBe(false);
    await narrow.getByText('Contents').click();
    await expect.poll(() => link.isVisible()).toBe(true);
  });

  it('/docs can be read without script, and offers no search then', async () => {
    const page = await open('/docs', { javaScriptEnabled: false, viewport: desk });
    expect(await page.getByRole('searchbox').isVisible()).toBe(false);
    await page.getByText('/v1/images/generations', { exact: true }).click();
    await expect.poll(() => page.locator('#create_image').isVisible()).toBe(true);
  });
});

describe('the search of /docs', () => {
  it('works by keyboard: a slash begins it, Enter opens the first operation found, Escape shows all again', async () => {
    const page = await open('/docs', { viewport: desk });
    const all = await heads(page).count();
    await page.keyboard.press('/');
    await page.keyboard.type('make IMAGE');
    await expect.poll(() => page.getByRole('status').textContent()).toMatch(/^\d+ found$/);
    expect(await heads(page).first().textContent()).toContain('/v1/images/generations');
    expect(await page.locator('nav').getByText('Revoke a key').isVisible()).toBe(false);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('#create_image').isVisible()).toBe(true);
    await page.keyboard.press('/');
    await page.keyboard.press('Escape');
    await expect.poll(() => heads(page).count()).toBeGreaterThanOrEqual(all);
    expect(await page.getByRole('heading', { level: 1 }).isVisible()).toBe(true);
  });

  it('finds a whole section by its heading, and says when there is nothing', async () => {
    const page = await open('/docs', { viewport: phone });
    await page.getByRole('searchbox').fill('callbacks');
    await expect.poll(() => page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(['Callbacks']);
    await page.getByRole('searchbox').fill('zeppelin');
    await expect.poll(() => page.getByRole('status').textContent()).toBe('Nothing found');
    expect(await heads(page).count()).toBe(0);
  });

  it('ends when a link leads to what it hides', async () => {
    const page = await open('/docs', { viewport: desk });
    await page.getByRole('searchbox').fill('create_image');
    await heads(page).first().click();
    await page.locator('#create_image a[href^="#schema-"]').first().click();
    await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('');
  });
});
